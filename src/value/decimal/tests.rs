use super::*;
use crate::error::ErrorKind;
use proptest::prelude::*;

fn parse(text: &str) -> Decimal {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// FLUSH-20, trial E14: exact unscaled values.
#[test]
fn flush_20_text_gives_the_exact_number() {
    for (text, unscaled, scale) in [
        ("1.25", 125, 2),
        ("1.5", 15, 1),
        ("-0.00", 0, 2),
        ("-0", 0, 0),
        ("+1", 1, 0),
        (".5", 5, 1),
        ("5.", 5, 0),
        ("007", 7, 0),
        ("1e5", 100_000, 0),
        ("1E+2", 100, 0),
        ("-1.5e-3", -15, 4),
        ("1.25e1", 125, 1),
        ("1.25e2", 125, 0),
        ("1.25e3", 1250, 0),
        ("100e-2", 100, 2),
        ("0e999999999", 0, 0),
        ("0.0e99999999999999999999999", 0, 0),
        ("0e-5", 0, 5),
        ("0e-999999999", 0, 76),
        ("1e-76", 1, 76),
        ("10e-77", 1, 76),
        ("-170141183460469231731687303715884105728", i128::MIN, 0),
    ] {
        assert_eq!(parse(text), Decimal::from_i128(unscaled, scale).unwrap(), "{text}");
    }
    let nines = "9".repeat(76);
    assert_eq!(parse(&nines).to_string(), nines);
    assert_eq!(parse(&format!("-{nines}")).to_string(), format!("-{nines}"));
    assert_eq!(parse(&format!("{nines}e-76")).to_string(), format!("0.{nines}"));
    // More digits than fit, but all of them zeros after the point.
    assert_eq!(parse(&format!("1.{}", "0".repeat(80))), parse(&format!("1.{}", "0".repeat(75))));
    assert_eq!(parse(&format!("0.{}", "0".repeat(99))), Decimal::from_i64(0, 76).unwrap());
    assert_eq!(parse(&format!("{}1", "0".repeat(5000))), Decimal::from_i64(1, 0).unwrap());
    assert_eq!(parse(&format!("1{}e-4924", "0".repeat(4999))).to_string(), format!("1{}", "0".repeat(75)));
}

/// FLUSH-20, trial E14: everything else names its rule.
#[test]
fn flush_20_text_that_is_no_decimal_names_the_rule() {
    let two_255 = "57896044618658097711785492504343953926634992332820282019728792003956564819968";
    for (text, rule) in [
        ("", "at least one digit"),
        ("+", "at least one digit"),
        ("-", "at least one digit"),
        (".", "at least one digit"),
        ("e5", "at least one digit"),
        ("1.2.3", "at most one point"),
        ("1e", "exponent is"),
        ("1e+", "exponent is"),
        ("1e1.5", "exponent is"),
        ("1e5 ", "exponent is"),
        (" 1", "only digits"),
        ("1 ", "only digits"),
        ("1 000", "only digits"),
        ("1_000", "only digits"),
        ("1,5", "only digits"),
        ("--1", "only digits"),
        ("abc", "only digits"),
        ("NaN", "only digits"),
        ("Infinity", "only digits"),
        ("0x10", "only digits"),
        ("\u{663}", "only digits"),
        ("1e76", "at most 76 digits"),
        ("1e999999999999999999999", "at most 76 digits"),
        ("1e-77", "at most 76 digits after the point"),
        ("1e-999999999999999999999", "at most 76 digits after the point"),
        (&"9".repeat(77), "at most 76 digits"),
        (two_255, "at most 76 digits"),
        (&format!("-{two_255}"), "at most 76 digits"),
    ] {
        let e = text.parse::<Decimal>().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidValue);
        assert!(e.to_string().contains(rule), "{text:?}: {e}");
    }
}

/// LIM-10: the last good value and one beyond, for each width and either sign.
#[test]
fn lim_10_each_width_has_its_digits_and_its_scale() {
    for (width, digits) in [(DecimalWidth::W64, 18), (DecimalWidth::W128, 38), (DecimalWidth::W256, 76)] {
        for sign in ["", "-"] {
            let most = parse(&format!("{sign}{}", "9".repeat(digits)));
            assert_eq!(most.with_width(width).unwrap().width(), Some(width));
            let fraction = parse(&format!("{sign}1e-{digits}")).with_width(width).unwrap();
            assert_eq!(usize::from(fraction.scale()), digits);
            assert!(fraction.rescale(u8::try_from(digits).unwrap() + 1).is_err(), "{width:?}");
            // One digit more after raising to a scale.
            assert!(most.with_width(width).unwrap().rescale(1).is_err(), "{width:?}");
            if digits < 76 {
                assert!(parse(&format!("{sign}1e{digits}")).with_width(width).is_err(), "{width:?}");
                assert!(parse(&format!("{sign}1e-{}", digits + 1)).with_width(width).is_err(), "{width:?}");
            }
        }
    }
    assert!(Decimal::from_i64(1, 77).is_err());
    assert!(Decimal::from_i64(i64::MIN, 0).unwrap().with_width(DecimalWidth::W64).is_err());
    // 10^76, the minimum of 256 bits, and the last good ones beside 10^76.
    let ten_76 = U256::from_u128(1).mul_pow10(76).unwrap();
    assert!(Decimal::from_parts(ten_76.to_signed(false), 0).is_err());
    assert!(Decimal::from_parts(ten_76.to_signed(true), 0).is_err());
    assert!(Decimal::from_parts([0, 0, 0, 1 << 63], 0).is_err());
    let nines = parse(&"9".repeat(76));
    assert_eq!(Decimal::from_parts(nines.unscaled(), 0).unwrap(), nines);
}

#[test]
fn lim_10_lowering_loses_nothing_but_zeros() {
    assert_eq!(parse("1.500").rescale(1).unwrap(), parse("1.5"));
    assert!(parse("1.501").rescale(1).is_err());
    assert!(parse("-0.05").rescale(0).is_err());
    assert_eq!(parse("0.00").rescale(0).unwrap(), parse("0"));
    let scaled = parse("1").with_width(DecimalWidth::W64).unwrap().rescale(17).unwrap();
    assert_eq!((scaled.width(), scaled.scale()), (Some(DecimalWidth::W64), 17));
}

#[test]
fn decimals_are_shown_with_all_digits_of_their_scale() {
    for (unscaled, scale, text) in [
        (0, 0, "0"),
        (0, 3, "0.000"),
        (5, 3, "0.005"),
        (-5, 1, "-0.5"),
        (-1250, 2, "-12.50"),
        (120, 0, "120"),
    ] {
        assert_eq!(Decimal::from_i64(unscaled, scale).unwrap().to_string(), text);
    }
    assert_eq!(format!("{:>8}|{:<7}|", parse("1.5"), parse("-2")), "     1.5|-2     |");
}

#[test]
fn equality_is_of_integer_and_scale_not_of_width() {
    assert_ne!(parse("1.5"), parse("1.50"));
    assert_eq!(parse("1.5"), parse("1.5").with_width(DecimalWidth::W64).unwrap());
}

/// The naive model: digits as a string, the point moved by hand.
fn model(negative: bool, whole: &str, fraction: &str, exponent: i32) -> Option<String> {
    let mut digits = format!("{whole}{fraction}");
    let mut scale = i32::try_from(fraction.len()).ok()? - exponent;
    while scale < 0 {
        digits.push('0');
        scale += 1;
    }
    let scale = usize::try_from(scale).ok()?;
    let mut digits = digits.trim_start_matches('0').to_owned();
    let zero = digits.is_empty();
    let mut scale = scale;
    while !zero && (scale > 76 || digits.len() > 76) && scale > 0 && digits.ends_with('0') {
        digits.pop();
        scale -= 1;
    }
    if zero {
        scale = scale.min(76);
    }
    if scale > 76 || digits.len() > 76 {
        return None;
    }
    while digits.len() <= scale {
        digits.insert(0, '0');
    }
    if scale > 0 {
        digits.insert(digits.len() - scale, '.');
    }
    let sign = if negative && !zero { "-" } else { "" };
    Some(format!("{sign}{digits}"))
}

proptest! {
    #[test]
    fn flush_20_parsing_agrees_with_moving_the_point_by_hand(
        negative: bool,
        whole in "[0-9]{1,40}0{0,40}",
        fraction in "0{0,10}[0-9]{0,40}0{0,40}",
        exponent in -100_i32..100,
    ) {
        let sign = if negative { "-" } else { "" };
        let text = format!("{sign}{whole}.{fraction}e{exponent}");
        let parsed = text.parse::<Decimal>().ok().map(|d| d.to_string());
        prop_assert_eq!(parsed, model(negative, &whole, &fraction, exponent), "{}", text);
    }

    #[test]
    fn flush_20_any_text_parses_or_fails(text in "[-+0-9.eE \u{e9}]{0,90}") {
        if let Ok(value) = text.parse::<Decimal>() {
            prop_assert_eq!(parse(&value.to_string()), value);
        }
    }

    #[test]
    fn lim_10_rescaling_appends_zeros(unscaled: i64, scale in 0_u8..=20, more in 0_u8..=40) {
        let value = Decimal::from_i64(unscaled, scale).unwrap();
        let raised = value.rescale(scale + more).unwrap();
        let point = if scale == 0 && more > 0 { "." } else { "" };
        let zeros = "0".repeat(usize::from(more));
        prop_assert_eq!(raised.to_string(), format!("{value}{point}{zeros}"));
        prop_assert_eq!(raised.rescale(scale).unwrap(), value);
    }
}
