use super::values::Array;
use super::*;
use crate::wire::frame;
use crate::wire::ingress::cells::{self, CellColumn, fuzz_ingress_message};
use crate::wire::ingress::table;
use crate::wire::sink::Sink;
use crate::wire::symbols;
use proptest::prelude::*;

fn with_blocks(flags: Flags, write: impl FnOnce(&mut Sink<'_>)) -> Vec<u8> {
    let mut room = vec![0; 1 << 16];
    let mut sink = Sink::new(&mut room);
    let open = frame::open(&mut sink);
    if flags.has(Flags::DELTA_SYMBOLS) {
        symbols::put_delta(0, 2, [&b"\x01a\x02bc"[..]], &mut sink);
    }
    write(&mut sink);
    open.close(&mut sink, flags, 1);
    let len = sink.finish().expect("64 KiB hold it");
    room.truncate(len);
    room
}

/// A message with one column of `data`, null section included.
fn one_column(column_type: ColumnType, row_count: usize, data: &[u8]) -> Vec<u8> {
    with_blocks(table::FLAGS, |sink| {
        table::put_head("t", row_count, [("c", column_type)].into_iter(), sink);
        sink.put(data);
    })
}

fn fault_of(column_type: ColumnType, row_count: usize, data: &[u8]) -> Option<WireFault> {
    message(&one_column(column_type, row_count, data)).err().map(|error| error.what)
}

const LENGTHS: [[u8; 4]; 2] = [[1, 0, 0, 0], [2, 0, 0, 0]];
const ELEMENTS: [[u8; 8]; 2] = [1.5_f64.to_le_bytes(), f64::NAN.to_le_bytes()];

fn sample(column_type: ColumnType) -> Cell<'static> {
    match column_type {
        ColumnType::Boolean => Cell::Boolean(true),
        ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Int
        | ColumnType::Long
        | ColumnType::Timestamp
        | ColumnType::Date
        | ColumnType::TimestampNanos => Cell::Integer(-3),
        ColumnType::Float => Cell::Float(-0.0),
        ColumnType::Double => Cell::Double(0.1),
        ColumnType::Symbol => Cell::Unsigned(1),
        ColumnType::Uuid => Cell::Uuid(u128::MAX - 5),
        ColumnType::Long256 => Cell::Limbs([1, 2, 3, u64::MAX]),
        ColumnType::Geohash => Cell::Unsigned(0xff),
        ColumnType::Varchar => Cell::Text("na\u{ef}ve"),
        ColumnType::DoubleArray | ColumnType::LongArray => {
            Cell::Array(Array { lengths: &LENGTHS, elements: &ELEMENTS })
        }
        ColumnType::Decimal64 | ColumnType::Decimal128 | ColumnType::Decimal256 => {
            Cell::Limbs([u64::MAX - 4, u64::MAX, u64::MAX, u64::MAX])
        }
        ColumnType::Char => Cell::Unsigned(0xd83d),
        ColumnType::Binary => Cell::Bytes(b"\xff\x00"),
        ColumnType::Ipv4 => Cell::Unsigned(0x8000_0000),
    }
}

/// Every type, with rows that hold a value where `is_null` says no.
fn all_types(row_count: usize, is_null: impl Fn(usize) -> bool) -> Vec<CellColumn<'static>> {
    const NAMES: [&str; 23] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t",
        "u", "v", "w",
    ];
    let columns = ColumnType::ALL.into_iter().zip(NAMES).map(|(column_type, name)| {
        let value = sample(column_type);
        let cells = (0..row_count).map(|row| (!is_null(row)).then_some(value)).collect();
        CellColumn { name, column_type, parameter: 8, cells }
    });
    columns.collect()
}

#[test]
fn every_type_is_read_as_it_was_written() {
    for row_count in [1, 3, 8, 9, 65] {
        let patterns: [&dyn Fn(usize) -> bool; 4] =
            [&|_| false, &|row| row == 0, &|row| row % 3 == 1, &|_| true];
        for is_null in patterns {
            let columns = all_types(row_count, is_null);
            for flags in [table::FLAGS, Flags::DELTA_SYMBOLS.with(Flags::DEFER_COMMIT)] {
                let bytes = with_blocks(flags, |sink| cells::put_block("t", &columns, flags, sink));
                let read = message(&bytes).expect("our own message");
                assert_eq!(read.flags, flags);
                assert_eq!(read.blocks[0].row_count, row_count);
                for (wrote, read) in columns.iter().zip(&read.blocks[0].columns) {
                    assert_eq!((wrote.name, wrote.column_type), (read.name, read.column_type));
                    for (cell, read) in wrote.cells.iter().zip(read.cells()) {
                        let wanted = cell.or(stands_for_null(wrote.column_type));
                        assert_eq!(format!("{wanted:?}"), format!("{read:?}"));
                    }
                }
                fuzz_ingress_message(&bytes);
            }
        }
    }
}

#[test]
fn e28_a_sink_without_room_measures_a_row_exactly() {
    for is_null in [false, true] {
        let columns = all_types(1, |_| is_null);
        let bytes = with_blocks(table::FLAGS, |sink| cells::put_block("t", &columns, table::FLAGS, sink));
        let mut nowhere = Sink::new(&mut []);
        cells::put_block("t", &columns, table::FLAGS, &mut nowhere);
        let head_and_delta = frame::HEADER_BYTES + symbols::delta_len(0, 2, 5);
        assert_eq!((nowhere.len() + head_and_delta, nowhere.finish()), (bytes.len(), None));
    }
}

/// What NULL is in the types that have none.
fn stands_for_null(column_type: ColumnType) -> Option<Cell<'static>> {
    match column_type {
        ColumnType::Boolean => Some(Cell::Boolean(false)),
        ColumnType::Byte | ColumnType::Short => Some(Cell::Integer(0)),
        ColumnType::Char => Some(Cell::Unsigned(0)),
        _ => None,
    }
}

#[test]
fn a_message_cut_at_any_byte_or_with_one_too_many_is_refused() {
    let columns = all_types(9, |row| row % 4 == 1);
    let bytes = with_blocks(table::FLAGS, |sink| cells::put_block("t", &columns, table::FLAGS, sink));
    assert!(message(&bytes).is_ok());
    let fix_length = |bytes: &mut Vec<u8>| {
        let payload = u32::try_from(bytes.len().saturating_sub(12)).expect("a short message");
        if let Some(length) = bytes.get_mut(8..12) {
            length.copy_from_slice(&payload.to_le_bytes());
        }
    };
    for cut in 0..bytes.len() {
        assert!(message(&bytes[..cut]).is_err(), "cut at {cut}");
        let mut shorter = bytes[..cut].to_vec();
        fix_length(&mut shorter);
        assert!(message(&shorter).is_err(), "cut at {cut}, length made to fit");
    }
    let mut longer = [&bytes[..], &[0]].concat();
    fix_length(&mut longer);
    assert_eq!(message(&longer).map_err(|e| e.what).err(), Some(WireFault::Trailing));
}

#[test]
fn lim_14_null_flags_and_bitmaps_are_read_strictly() {
    let le = |value: i32| value.to_le_bytes();
    let three = [le(1), le(2), le(3)].concat();
    assert_eq!(fault_of(ColumnType::Int, 3, &[&[0][..], &three].concat()), None);
    assert_eq!(fault_of(ColumnType::Int, 3, &[&[2][..], &three].concat()), Some(WireFault::Value(2)));
    assert_eq!(fault_of(ColumnType::Int, 3, &[&[1, 0b110][..], &le(1)].concat()), None);
    let spare = fault_of(ColumnType::Int, 3, &[&[1, 0b1110][..], &le(1)].concat());
    assert!(matches!(spare, Some(WireFault::Inconsistent(_))));
    assert_eq!(fault_of(ColumnType::Int, 9, &[1, 0xff]), Some(WireFault::Truncated));
    assert_eq!(fault_of(ColumnType::Boolean, 9, &[0, 0xff, 1]), None);
    assert!(fault_of(ColumnType::Boolean, 9, &[0, 0xff, 2]).is_some());
    assert_eq!(fault_of(ColumnType::Boolean, 9, &[0, 0xff]), Some(WireFault::Truncated));
}

#[test]
fn lim_09_array_shapes_are_checked_before_their_elements() {
    let array = |lengths: &[u32], elements: usize| {
        let mut data = vec![0, u8::try_from(lengths.len()).expect("few dimensions")];
        data.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
        data.resize(data.len() + 8 * elements, 0);
        fault_of(ColumnType::DoubleArray, 1, &data)
    };
    // E01: empty ones are values
    for (lengths, elements) in [(&[0][..], 0), (&[2, 0], 0), (&[0, 3], 0), (&[2, 3], 6), (&[1; 32], 1)] {
        assert_eq!(array(lengths, elements), None, "{lengths:?}");
    }
    assert_eq!(array(&[(1 << 28) - 1, 0], 0), None);
    assert_eq!(array(&[], 0), Some(WireFault::Value(0)));
    assert_eq!(array(&[1; 33], 1), Some(WireFault::Value(33)));
    assert_eq!(array(&[1 << 28, 0], 0), Some(WireFault::Value(1 << 28)));
    assert_eq!(array(&[0, u32::MAX], 0), Some(WireFault::Value(u32::MAX.into())));
    assert_eq!(array(&[2, 2], 3), Some(WireFault::Truncated));
    assert_eq!(array(&[(1 << 28) - 1; 2], 3), Some(WireFault::Truncated));
    assert!(matches!(array(&[(1 << 28) - 1; 3], 3), Some(WireFault::Inconsistent(_))));
    let two_ranks = [0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(matches!(fault_of(ColumnType::DoubleArray, 2, &two_ranks), Some(WireFault::Inconsistent(_))));
}

#[test]
fn parameters_of_columns_are_read_within_their_limits() {
    for (precision, width, refused) in
        [(0, 0, true), (1, 1, false), (8, 1, false), (9, 2, false), (60, 8, false), (61, 8, true)]
    {
        let data = [&[0, precision][..], &vec![0; width]].concat();
        assert_eq!(fault_of(ColumnType::Geohash, 1, &data).is_some(), refused, "LIM-11 {precision}");
    }
    for (column_type, width, scale_max) in
        [(ColumnType::Decimal64, 8, 18), (ColumnType::Decimal128, 16, 38), (ColumnType::Decimal256, 32, 76)]
    {
        let data = |scale| [&[0, scale][..], &vec![0; width]].concat();
        assert_eq!(fault_of(column_type, 1, &data(scale_max)), None);
        let limit = WireFault::Limit { value: u64::from(scale_max) + 1, limit: scale_max.into() };
        assert_eq!(fault_of(column_type, 1, &data(scale_max + 1)), Some(limit), "LIM-10");
    }
}

#[test]
fn e19_texts_are_utf8_each_and_offsets_never_fall() {
    let varchar = |offsets: &[u32], bytes: &[u8]| {
        let mut data = vec![0];
        data.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
        data.extend(bytes);
        fault_of(ColumnType::Varchar, offsets.len() - 1, &data)
    };
    let euro = "\u{20ac}".as_bytes();
    assert_eq!(varchar(&[0, 3, 3], euro), None);
    assert_eq!(varchar(&[0, 1, 3], euro), Some(WireFault::Utf8), "whole, but cut between");
    assert_eq!(varchar(&[0, 3], b"\xed\xa0\x80"), Some(WireFault::Utf8), "half a pair");
    assert_eq!(varchar(&[1, 3], euro), Some(WireFault::Value(1)));
    assert_eq!(varchar(&[0, 3, 2], euro), Some(WireFault::Value(2)));
    assert_eq!(varchar(&[0, 4], euro), Some(WireFault::Truncated));
    assert_eq!(varchar(&[0, 1 << 31], euro), Some(WireFault::Value(1 << 31)));
    let binary = [&[0, 0, 0, 0, 0, 3, 0, 0, 0][..], b"\xed\xa0\x80"].concat();
    assert_eq!(fault_of(ColumnType::Binary, 1, &binary), None);
}

#[test]
fn what_stands_around_the_columns_is_read_within_its_limits() {
    use ColumnType::{Long, Timestamp, TimestampNanos};
    type Schema<'a> = &'a [(&'a str, ColumnType)];
    let heads: [(&str, usize, Schema<'_>, bool); 11] = [
        ("t", 1, &[("a", Long)], true),
        (&"t".repeat(127), 1, &[(&"c".repeat(127), Long)], true),
        ("", 1, &[("a", Long)], false),
        (&"t".repeat(128), 1, &[("a", Long)], false),
        ("t", 1, &[(&"c".repeat(128), Long)], false),
        ("t", 0, &[("a", Long)], false),
        ("t", 1_000_001, &[("a", Long)], false),
        ("t", 1, &[], false),
        ("t", 1, &[("", Long)], false),
        ("t", 1, &[("", Timestamp), ("a", Long)], true),
        ("t", 1, &[("", Timestamp), ("", TimestampNanos)], false),
    ];
    for (table, rows, columns, accepted) in heads {
        let bytes = with_blocks(Flags::DELTA_SYMBOLS, |sink| {
            let before = sink.len();
            table::put_head(table, rows, columns.iter().copied(), sink);
            let names: usize = columns.iter().map(|(name, _)| name.len()).sum();
            let bound = table::head_max_len(table.len(), columns.len(), names);
            assert!(!accepted || sink.len() - before <= bound);
            for _ in columns {
                sink.put(&[0; 9]);
            }
        });
        assert_eq!(message(&bytes).is_ok(), accepted, "{table} {rows} {columns:?}");
    }
}

#[test]
fn a_dictionary_inside_a_column_is_read_where_the_message_has_none() {
    let data = [1, 2, 2, 1, b'a', 1, b'b', 0, 1, 0];
    let local = |data: &[u8]| {
        with_blocks(Flags::NONE, |sink| {
            table::put_head("t", 4, [("c", ColumnType::Symbol)].into_iter(), sink);
            sink.put(data);
        })
    };
    let bytes = local(&data);
    let read = message(&bytes).expect("the example of wire-examples.md 10.5");
    assert_eq!((read.flags, read.delta), (Flags::NONE, None));
    let cells: Vec<_> = read.blocks[0].columns[0].cells().collect();
    let text = |text| Some(Cell::Text(text));
    assert_eq!(cells, [text("a"), None, text("b"), text("a")]);
    let mut beyond = data;
    beyond[8] = 2;
    assert_eq!(message(&local(&beyond)).err().map(|e| e.what), Some(WireFault::Value(2)));
}

#[test]
fn flags_of_other_messages_are_refused() {
    for flag in [0x02, 0x10, 0x20, 0x40, 0x80] {
        let mut bytes = one_column(ColumnType::Byte, 1, &[0, 7]);
        assert!(message(&bytes).is_ok());
        bytes[5] |= flag;
        assert!(message(&bytes).is_err(), "{flag:#04x}");
    }
}

proptest! {
    #[test]
    fn foreign_bytes_never_panic(column_type in 0_u8..0x20, rows in 0_u8..20, data: Vec<u8>) {
        let bytes = with_blocks(table::FLAGS, |sink| {
            sink.put(&[1, b't', rows, 1, 1, b'c', column_type]);
            sink.put(&data);
        });
        fuzz_ingress_message(&bytes);
    }

    #[test]
    fn damaged_messages_never_panic(damage in prop::collection::vec((0_usize..1200, any::<u8>()), 1..4)) {
        let columns = all_types(9, |row| row % 4 == 1);
        let mut bytes = with_blocks(table::FLAGS, |sink| cells::put_block("t", &columns, table::FLAGS, sink));
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        fuzz_ingress_message(&bytes);
    }
}
