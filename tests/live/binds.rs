//! Values bound to placeholders, and what the server makes of them.

use crate::world::{World, number};
use qwp::{
    BindValue, Date, Decimal, DecimalWidth, ErrorKind, FromValue, Geohash, Long256, QueryClient,
    TimestampMicros, TimestampNanos, Uuid,
};
use std::fmt::Debug;

/// `select $1` gives the value back, and NULL for the NULL of its type.
#[track_caller]
fn both<T>(client: &mut QueryClient, values: &[T], null: Option<T>)
where
    T: BindValue + Copy + Debug + PartialEq + for<'a> FromValue<'a>,
    Option<T>: BindValue,
{
    for value in values {
        let result = client.query("select $1 v").bind(*value).fetch_all().unwrap();
        assert_eq!(result.rows().next().unwrap().get::<T>("v").unwrap(), *value);
    }
    let result = client.query("select $1 v").bind(None::<T>).fetch_all().unwrap();
    assert_eq!(result.rows().next().unwrap().get::<Option<T>>("v").unwrap(), null, "NULL of {:?}", values[0]);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_03_binds_and_nulls_of_every_type_come_back() {
    let world = World::new();
    let client = &mut world.client("");
    // These four have no NULL.
    both(client, &[true, false], Some(false));
    both(client, &[1_i8, i8::MIN, i8::MAX], Some(0));
    both(client, &[1_i16, i16::MIN, i16::MAX], Some(0));
    both(client, &['A', '\u{20ac}', '\u{ffff}'], Some('\0'));
    both(client, &[1_i32, i32::MIN + 1, i32::MAX], None);
    both(client, &[1_i64, i64::MIN + 1, i64::MAX], None);
    both(client, &[1.5_f32, f32::MIN_POSITIVE, f32::INFINITY], None);
    both(client, &[1.5_f64, f64::MIN_POSITIVE, f64::NEG_INFINITY], None);
    both(client, &[0, 1, -1, i64::MAX].map(TimestampMicros::new), None);
    both(client, &[0, 1, -1, i64::MAX].map(TimestampNanos::new), None);
    both(client, &[0, 1, -1].map(Date::new), None);
    both(client, &[0, 1, u128::MAX].map(Uuid::from_u128), None);
    both(client, &[[0; 4], [1, 2, 3, 4], [u64::MAX; 4]].map(Long256::from_limbs), None);
    for precision in [1, 5, 8, 20, 59, 60] {
        both(client, &[0, 1].map(|bits| Geohash::new(bits, precision).unwrap()), None);
    }
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_03_bound_text_and_decimals_come_back() {
    let world = World::new();
    let mut client = world.client("");
    for text in [Some(""), Some("na\u{ef}ve \u{1f680}"), Some("a\0b"), None] {
        let result = client.query("select $1 v").bind(text).fetch_all().unwrap();
        assert_eq!(result.rows().next().unwrap().get::<Option<&str>>("v").unwrap(), text);
    }
    for (width, scale) in [(DecimalWidth::W64, 2), (DecimalWidth::W128, 38), (DecimalWidth::W256, 0)] {
        let digits = "9".repeat(usize::from(width.max_digits()));
        let number = format!("{digits}e-{scale}");
        for text in [number.clone(), format!("-{number}")] {
            let value = text.parse::<Decimal>().unwrap().with_width(width).unwrap();
            let result = client.query("select $1 v").bind(value).fetch_all().unwrap();
            let read: Decimal = result.rows().next().unwrap().get("v").unwrap();
            assert_eq!((read, read.width()), (value, Some(width)), "{text}");
        }
    }
    let result = client.query("select $1 v").bind(None::<Decimal>).fetch_all().unwrap();
    assert_eq!(result.rows().next().unwrap().get::<Option<Decimal>>("v").unwrap(), None);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_03_binds_are_numbered_and_take_part_in_conditions() {
    let world = World::new();
    let mut client = world.client("");
    let sql = "select sum(x) from long_sequence(100) where x > $1 and x <= $2";
    let result = client.query(sql).bind(10_i64).bind(20_i64).fetch_all().unwrap();
    assert_eq!(result.rows().next().unwrap().get_at::<i64>(0).unwrap(), (11..=20).sum::<i64>());
    // A bind that is not there is NULL, or an error if the server remembers the statement's text.
    for sql in [format!("select $1 v, '{}' own", world.prefix()), "select $1 v".to_owned()] {
        match client.query(&sql).fetch_all() {
            Ok(result) => assert!(result.rows().next().unwrap().value(0).unwrap().is_null()),
            Err(error) => assert!(error.to_string().contains("undefined bind variable"), "{error}"),
        }
    }
    // One too many is ignored (wire.md 8.3).
    let result = client.query("select $1 v").bind(1_i64).bind(2_i64).fetch_all().unwrap();
    assert_eq!(result.rows().next().unwrap().get::<i64>("v").unwrap(), 1);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_03_a_bind_that_does_not_fit_is_the_servers_error() {
    let world = World::new();
    let mut client = world.client("");
    let error = client.query("select x from long_sequence($1)").bind("many").fetch_all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Query, "{error}");
    assert!(matches!(error.server_status().unwrap().status, 0x03 | 0x05 | 0x06), "{error}");
    assert_eq!(number(&mut client, "select 1::long"), 1);
}
