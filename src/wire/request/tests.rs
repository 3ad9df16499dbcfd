use super::*;
use crate::value::DecimalWidth;
use proptest::prelude::*;
use std::borrow::Cow;

/// A value and a NULL of every type that can be bound.
pub(crate) fn every_bind() -> Vec<Bind<'static>> {
    let limbs = [1, 2, 3, 4];
    let minus_one = [u64::MAX; 4];
    let mut binds = Vec::new();
    for has_value in [true, false] {
        let value = |value: i64| has_value.then_some(value);
        binds.extend([
            Bind::Boolean(has_value.then_some(true)),
            Bind::Byte(has_value.then_some(-2)),
            Bind::Short(has_value.then_some(i16::MIN)),
            Bind::Int(has_value.then_some(i32::MAX)),
            Bind::Long(value(i64::MIN)),
            Bind::Float(has_value.then_some(-0.0)),
            Bind::Double(has_value.then_some(f64::INFINITY)),
            Bind::Char(has_value.then_some(0xffff)),
            Bind::Varchar(has_value.then_some(Cow::Borrowed("na\u{ef}ve"))),
            Bind::Varchar(has_value.then_some(Cow::Borrowed(""))),
            Bind::Date(value(-1)),
            Bind::Timestamp(value(i64::MAX)),
            Bind::TimestampNanos(value(0)),
            Bind::Uuid(has_value.then_some(1 << 120)),
            Bind::Long256(has_value.then_some(limbs)),
            Bind::Decimal { unscaled: has_value.then_some(minus_one), scale: 18, width: DecimalWidth::W64 },
            Bind::Decimal {
                unscaled: has_value.then_some([1, 2, 0, 0]),
                scale: 38,
                width: DecimalWidth::W128,
            },
            Bind::Decimal { unscaled: has_value.then_some(limbs), scale: 76, width: DecimalWidth::W256 },
        ]);
        for precision in [1, 5, 8, 59, 60] {
            let all_ones = (1 << precision) - 1;
            binds.push(Bind::Geohash { bits: has_value.then_some(all_ones), precision });
        }
    }
    binds
}

fn query<'a>(binds: &'a [Bind<'a>], options: QueryOptions) -> Request<'a> {
    Request::Query(Query { request_id: 7, sql: "SELECT \u{20ac} $1;", initial_credit: 300, binds, options })
}

fn options() -> [QueryOptions; 4] {
    [(false, None), (true, None), (false, Some(1)), (true, Some(i64::MAX as u64))]
        .map(|(reset_dict, timeout_ms)| QueryOptions { reset_dict, timeout_ms })
}

#[test]
fn every_request_is_read_as_it_was_written() {
    let binds = every_bind();
    let mut requests = vec![
        Request::Cancel { request_id: i64::MIN },
        Request::Credit { request_id: -1, additional_bytes: i64::MAX as u64 },
    ];
    for options in options() {
        requests.push(query(&[], options));
        requests.push(query(&binds, options));
        requests.extend(binds.iter().map(|bind| query(std::slice::from_ref(bind), options)));
    }
    for request in requests {
        let bytes = request.encode();
        assert!(bytes.len() <= request.max_len());
        let mut read_binds = Vec::new();
        assert_eq!(Request::decode(&bytes, &mut read_binds).as_ref(), Ok(&request));
        fuzz_request(&bytes);
    }
}

#[test]
fn lim_16_a_request_cut_at_any_byte_is_refused_or_has_no_trailer() {
    let binds = every_bind();
    for options in options() {
        let bytes = query(&binds, options).encode();
        let plain = query(&binds, QueryOptions::default()).encode().len();
        for cut in 0..bytes.len() {
            let mut read_binds = Vec::new();
            let read = Request::decode(&bytes[..cut], &mut read_binds).is_ok();
            assert_eq!(read, cut == plain, "cut at {cut} of {}", bytes.len());
        }
    }
}

#[test]
fn a_null_text_has_no_offsets_and_a_null_parameter_is_kept() {
    let of = |bind: Bind<'_>| {
        let mut room = [0; 64];
        let mut sink = Sink::new(&mut room);
        bind.put(&mut sink);
        let len = sink.finish().expect("64 bytes hold it");
        room[..len].to_vec()
    };
    assert_eq!(of(Bind::Varchar(None)), [0x0f, 1, 1]);
    assert_eq!(of(Bind::Varchar(Some("".into()))), [0x0f, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(of(Bind::Geohash { bits: None, precision: 20 }), [0x0e, 1, 1, 20]);
    assert_eq!(of(Bind::Geohash { bits: Some(0xff), precision: 8 }), [0x0e, 0, 8, 0xff], "no forced bitmap");
    let null = Bind::Decimal { unscaled: None, scale: 2, width: DecimalWidth::W128 };
    assert_eq!(of(null), [0x14, 1, 1, 2]);
}

#[test]
fn binds_that_servers_refuse_or_misread_are_refused() {
    let cases: [&[u8]; 14] = [
        &[0x00, 0, 1],
        &[0x08, 0, 1],
        &[0x09, 0, 0],          // SYMBOL
        &[0x11, 1, 1],          // DOUBLE_ARRAY
        &[0x12, 1, 1],          // LONG_ARRAY
        &[0x17, 1, 1],          // BINARY
        &[0x18, 0, 1, 0, 0, 0], // IPv4
        &[0x02, 2, 1],
        &[0x02, 1, 0],
        &[0x01, 0, 2],
        &[0x0e, 0, 0],
        &[0x0e, 0, 61, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x0e, 0, 5, 0x20], // LIM-11: a bit above the precision
        &[0x13, 1, 1, 19],
    ];
    for bind in cases {
        let bytes = [&query(&[], QueryOptions::default()).encode()[..], bind].concat();
        let mut bytes = bytes;
        let count_at = bytes.len() - bind.len() - 1;
        bytes[count_at] = 1;
        let mut binds = Vec::new();
        assert!(Request::decode(&bytes, &mut binds).is_err(), "{bind:?}");
    }
}

proptest! {
    #[test]
    fn foreign_bytes_never_panic(data: Vec<u8>) {
        fuzz_request(&data);
    }

    #[test]
    fn damaged_requests_never_panic(damage in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4)) {
        let binds = every_bind();
        let mut bytes = query(&binds, options()[3]).encode();
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        fuzz_request(&bytes);
    }
}
