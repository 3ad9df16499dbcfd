#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

use super::*;
use crate::wire::egress::testing::varint;
use proptest::prelude::*;

const ALL_FIXED: [(ColumnType, &[u8], usize); 14] = [
    (ColumnType::Byte, &[], 1),
    (ColumnType::Short, &[], 2),
    (ColumnType::Char, &[], 2),
    (ColumnType::Int, &[], 4),
    (ColumnType::Float, &[], 4),
    (ColumnType::Ipv4, &[], 4),
    (ColumnType::Long, &[], 8),
    (ColumnType::Double, &[], 8),
    (ColumnType::Decimal64, &[18], 8),
    (ColumnType::Uuid, &[], 16),
    (ColumnType::Decimal128, &[38], 16),
    (ColumnType::Long256, &[], 32),
    (ColumnType::Decimal256, &[76], 32),
    (ColumnType::Geohash, &[20], 3),
];

fn read(bytes: &[u8], kind: ColumnType, rows: usize) -> WireResult<(Column, usize)> {
    let mut reader = Reader::new(bytes);
    let column = Column::read(&mut reader, kind, rows, 3, &mut Spares::default())?;
    Ok((column, reader.remaining()))
}

fn fault(bytes: &[u8], kind: ColumnType, rows: usize) -> (&'static str, WireFault) {
    let error = read(bytes, kind, rows).expect_err("refused");
    (error.field, error.what)
}

/// What every cell of a column is, by `cell`, and that nothing is there behind the last row.
fn cells<T>(
    bytes: &[u8],
    kind: ColumnType,
    rows: usize,
    cell: impl Fn(ColumnRef<'_>, usize) -> T,
) -> Vec<Option<T>> {
    let (column, left) = read(bytes, kind, rows).expect("a column");
    assert_eq!(left, 0);
    let symbols = Symbols::default();
    let column = ColumnRef::new(bytes, &column, rows, &symbols);
    assert_eq!(column.touch_fixed(), column.count());
    assert_eq!((column.place(rows), column.is_null(rows)), (None, false));
    (0..rows)
        .map(|row| {
            assert_eq!(column.is_null(row), column.place(row).is_none());
            column.place(row).map(|place| cell(column, place))
        })
        .collect()
}

impl ColumnRef<'_> {
    /// [`ColumnRef::touch`], where no dictionary is at hand.
    fn touch_fixed(&self) -> usize {
        if self.kind() == ColumnType::Symbol { self.count() } else { self.touch() }
    }
}

/// A bitmap of `rows` rows with the given NULLs, spare bits set.
fn bitmap(rows: usize, null: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut out = vec![1];
    for byte in 0..rows.div_ceil(8) {
        out.push(
            (0..8).filter(|bit| byte * 8 + bit >= rows || null(byte * 8 + bit)).map(|bit| 1 << bit).sum(),
        );
    }
    out
}

// LIM-14, QRY-14: "spare bits of bitmaps and packed booleans are ignored".
#[test]
fn lim_14_nulls_first_last_none_all_and_alternating_over_every_bitmap_length() {
    for rows in [1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000] {
        let patterns: [&dyn Fn(usize) -> bool; 5] =
            [&|_| false, &|_| true, &|row| row == 0, &|row| row + 1 == rows, &|row| row % 3 == 1];
        for null in patterns {
            let mut bytes = bitmap(rows, null);
            let values: Vec<usize> = (0..rows).filter(|&row| !null(row)).collect();
            values.iter().for_each(|&row| bytes.extend((row as i64).to_le_bytes()));
            let read = cells(&bytes, ColumnType::Long, rows, |column, place| {
                i64::from_le_bytes(column.fixed::<8>()[place])
            });
            let wanted: Vec<_> = (0..rows).map(|row| (!null(row)).then_some(row as i64)).collect();
            assert_eq!(read, wanted, "{rows} rows");
            assert_eq!(fault(&bytes[..rows.div_ceil(8)], ColumnType::Long, rows).0, "null bitmap");
        }
    }
}

#[test]
fn lim_14_packed_booleans_ignore_spare_bits() {
    for rows in [1, 7, 8, 9, 15, 16, 17, 63, 64, 65] {
        let mut bytes = vec![0];
        bytes.extend(bitmap(rows, |row| row % 3 == 0).split_off(1));
        let read = cells(&bytes, ColumnType::Boolean, rows, |column, place| {
            column.bits()[place / 8] >> (place % 8) & 1 == 1
        });
        assert_eq!(read, (0..rows).map(|row| Some(row % 3 == 0)).collect::<Vec<_>>());
        assert_eq!(fault(&bytes[..bytes.len() - 1], ColumnType::Boolean, rows).1, WireFault::Truncated);
    }
}

#[test]
fn qry_15_types_without_null_refuse_a_bitmap() {
    for kind in [ColumnType::Boolean, ColumnType::Byte, ColumnType::Short, ColumnType::Char] {
        let wanted = WireFault::Inconsistent("this type has no NULL");
        assert_eq!(fault(&[1, 0, 0, 0, 0], kind, 1), ("null flag", wanted));
    }
}

#[test]
fn qry_15_other_null_flags_than_0_and_1_are_refused() {
    for kind in ColumnType::ALL {
        assert_eq!(fault(&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0], kind, 1), ("null flag", WireFault::Value(2)));
    }
}

#[test]
fn qry_15_fixed_widths_are_refused_at_every_cut() {
    for (kind, parameter, width) in ALL_FIXED {
        let bytes = [&[0], parameter, &vec![0x11; 3 * width]].concat();
        assert_eq!(read(&bytes, kind, 3).expect("three values").1, 0, "{kind}");
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut], kind, 3).is_err(), "{kind} cut at {cut}");
        }
    }
}

#[test]
fn qry_15_0_rows_decode_for_every_type_with_the_parameter_still_there() {
    for kind in ColumnType::ALL {
        let rest: &[u8] = match kind {
            ColumnType::Geohash => &[60],
            ColumnType::Decimal64 | ColumnType::Decimal128 | ColumnType::Decimal256 => &[18],
            ColumnType::Varchar | ColumnType::Binary => &[0; 4],
            ColumnType::Timestamp | ColumnType::TimestampNanos | ColumnType::Date => &[1],
            _ => &[],
        };
        let bytes = [&[0], rest].concat();
        let (column, left) = read(&bytes, kind, 0).unwrap_or_else(|e| panic!("{kind}: {e}"));
        assert_eq!((column.count, left), (0, 0), "{kind}");
    }
}

#[test]
fn lim_11_geohash_precision_is_1_to_60() {
    for (bits, fits) in [(0, false), (1, true), (8, true), (60, true), (61, false), (300, false)] {
        let bytes = [vec![0], varint(bits), vec![0; 8]].concat();
        assert_eq!(read(&bytes, ColumnType::Geohash, 1).is_ok(), fits, "{bits}");
    }
}

#[test]
fn lim_10_decimal_scales_end_at_the_digits_of_the_width() {
    for (kind, max) in
        [(ColumnType::Decimal64, 18), (ColumnType::Decimal128, 38), (ColumnType::Decimal256, 76)]
    {
        assert!(read(&[&[0, max], &[0; 32][..]].concat(), kind, 1).is_ok());
        let what = WireFault::Limit { value: u64::from(max) + 1, limit: max.into() };
        assert_eq!(fault(&[&[0, max + 1], &[0; 32][..]].concat(), kind, 1), ("decimal scale", what));
    }
}

fn text(offsets: &[u32], data: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    offsets.iter().for_each(|offset| out.extend(offset.to_le_bytes()));
    out.extend(data);
    out
}

#[test]
fn qry_15_offsets_must_start_at_0_rise_and_stay_inside_the_data() {
    for kind in [ColumnType::Varchar, ColumnType::Binary] {
        assert!(read(&text(&[0, 1, 1, 3], b"abc"), kind, 3).is_ok());
        for offsets in [[1, 1, 1, 3], [0, 2, 1, 3], [0, 3, 3, 1], [0, u32::MAX, 2, 3]] {
            assert_eq!(fault(&text(&offsets, b"abc"), kind, 3).0, "offsets", "{offsets:?}");
        }
        for end in [4, i32::MAX as u32, u32::MAX] {
            let (field, what) = fault(&text(&[0, 1, 1, end], b"abc"), kind, 3);
            assert_eq!((field, what), ("text", WireFault::Truncated));
        }
        let bytes = text(&[0, 1, 1, 3], b"abc");
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut], kind, 3).is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn qry_15_varchar_must_be_utf_8_and_offsets_must_not_split_a_character() {
    let euro = "a\u{20ac}b".as_bytes();
    assert!(read(&text(&[0, 1, 4, 5], euro), ColumnType::Varchar, 3).is_ok());
    for at in [2, 3] {
        let what = WireFault::Inconsistent("one splits a character");
        assert_eq!(fault(&text(&[0, 1, at, 5], euro), ColumnType::Varchar, 3), ("offsets", what));
        assert!(read(&text(&[0, 1, at, 5], euro), ColumnType::Binary, 3).is_ok());
    }
    assert_eq!(fault(&text(&[0, 2], &[b'a', 0xff]), ColumnType::Varchar, 1), ("text", WireFault::Utf8));
}

#[test]
fn qry_15_symbol_ids_end_below_the_size_of_the_dictionary() {
    for ids in [&[0_u64, 1, 2][..], &[2, 2, 2], &[0]] {
        let bytes = [vec![0], ids.iter().flat_map(|&id| varint(id)).collect()].concat();
        let (column, _) = read(&bytes, ColumnType::Symbol, ids.len()).expect("known ids");
        let Cells::Ids(read) = column.cells else { panic!("ids") };
        assert!(read.iter().map(|&id| u64::from(id)).eq(ids.iter().copied()));
    }
    for id in [3, 127, 128, 16_384, 1 << 32, u64::MAX] {
        let bytes = [vec![0, 1], varint(id), vec![2]].concat();
        assert_eq!(fault(&bytes, ColumnType::Symbol, 3), ("symbol ids", WireFault::Value(id)));
    }
    assert_eq!(fault(&[0, 1, 2], ColumnType::Symbol, 3).1, WireFault::Truncated);
    assert_eq!(fault(&[0, 0x82], ColumnType::Symbol, 1).1, WireFault::Truncated);
    assert_eq!(fault(&[&[0], &[0x80; 11][..]].concat(), ColumnType::Symbol, 1).1, WireFault::Varint);
}

// LIM-16: zero-padded varints are read.
#[test]
fn lim_16_padded_symbol_ids_and_more_than_one_step_of_them_are_read() {
    let bytes = [0, 0x82, 0x00, 0x81, 0x80, 0x80, 0x00];
    assert_eq!(read(&bytes, ColumnType::Symbol, 2).expect("padded").1, 0);
    let rows = 3 * STEP + 1;
    let bytes = [vec![0], vec![2; rows]].concat();
    let (column, left) = read(&bytes, ColumnType::Symbol, rows).expect("many");
    assert_eq!((column.count as usize, left), (rows, 0));
}

#[test]
fn qry_15_unknown_temporal_encodings_are_refused() {
    for kind in [ColumnType::Timestamp, ColumnType::TimestampNanos, ColumnType::Date] {
        for byte in 2..=u8::MAX {
            let bytes = [&[0, byte], &[0; 32][..]].concat();
            assert_eq!(fault(&bytes, kind, 3), ("encoding", WireFault::Value(byte.into())));
        }
        assert_eq!(fault(&[0], kind, 0), ("encoding", WireFault::Truncated));
    }
}

#[test]
fn lim_15_gorilla_over_fewer_than_three_values_is_plain_and_a_short_stream_is_refused() {
    for kind in [ColumnType::Timestamp, ColumnType::TimestampNanos, ColumnType::Date] {
        for rows in 0..3 {
            let values: Vec<u8> = (0..rows as i64).flat_map(i64::to_le_bytes).collect();
            let bytes = [&[0, 1], &values[..]].concat();
            let (column, left) = read(&bytes, kind, rows).expect("plain values");
            assert!(matches!(column.cells, Cells::Fixed(2)) && left == 0);
        }
        // wire.md 4.7: t = 0, 10, 25 gives the bytes 15 00.
        let bytes = [&[0, 1], &0_i64.to_le_bytes()[..], &10_i64.to_le_bytes(), &[0x15, 0x00]].concat();
        let (column, left) = read(&bytes, kind, 3).expect("a bit stream");
        let Cells::Times(times) = column.cells else { panic!("decoded") };
        assert_eq!((times, left), (vec![0, 10, 25], 0));
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut], kind, 3).is_err(), "cut at {cut}");
        }
    }
}

fn array(lengths: &[u32], elements: usize) -> Vec<u8> {
    let mut out = vec![lengths.len() as u8];
    lengths.iter().for_each(|length| out.extend(length.to_le_bytes()));
    out.extend(vec![0x22; elements * 8]);
    out
}

// E01
#[test]
fn lim_09_empty_arrays_are_values_and_keep_their_shape() {
    for kind in [ColumnType::DoubleArray, ColumnType::LongArray] {
        let bytes = [vec![1, 0b1], array(&[2, 0], 0), array(&[0, 3], 0), array(&[1, 2], 2)].concat();
        let read = cells(&bytes, kind, 4, |column, place| {
            let (lengths, elements) = column.array(place).expect("checked");
            (lengths.iter().map(|l| u32::from_le_bytes(*l)).collect::<Vec<_>>(), elements.len())
        });
        let wanted = [None, Some((vec![2, 0], 0)), Some((vec![0, 3], 0)), Some((vec![1, 2], 2))];
        assert_eq!(read, wanted);
        for cut in 2..bytes.len() {
            assert!(self::read(&bytes[..cut], kind, 4).is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn lim_09_dimensions_lengths_and_elements_have_bounds() {
    let refused = |lengths: &[u32]| fault(&[vec![0], array(lengths, 2)].concat(), ColumnType::DoubleArray, 1);
    assert_eq!(refused(&[]), ("array dimensions", WireFault::Value(0)));
    assert_eq!(refused(&[1; 33]), ("array dimensions", WireFault::Value(33)));
    for length in [1 << 28, i32::MAX as u32, u32::MAX] {
        let wanted = ("array lengths", WireFault::Value(length.into()));
        assert_eq!(refused(&[length]), wanted);
        assert_eq!(refused(&[0, length]), wanted, "beside a 0");
    }
    for lengths in [&[4097, 4096][..], &[(1 << 28) - 1; 32]] {
        assert_eq!(refused(lengths).0, "array elements", "{lengths:?}");
    }
    assert_eq!(refused(&[4096, 4096]), ("array elements", WireFault::Truncated));
    assert_eq!(refused(&[3]), ("array elements", WireFault::Truncated));
    let fits = [vec![0], array(&[1; 32], 1)].concat();
    assert!(read(&fits, ColumnType::DoubleArray, 1).is_ok());
    let empty = [vec![0], array(&[(1 << 28) - 1, 0], 0)].concat();
    assert!(read(&empty, ColumnType::DoubleArray, 1).is_ok());
}

proptest! {
    // QRY-09
    #[test]
    fn qry_09_any_bytes_are_a_column_or_an_error(bytes: Vec<u8>, kind in 0_usize..23, rows in 0_usize..200) {
        if let Ok((column, _)) = read(&bytes, ColumnType::ALL[kind], rows) {
            let symbols = Symbols::default();
            let column = ColumnRef::new(&bytes, &column, rows, &symbols);
            prop_assert_eq!(column.touch_fixed(), column.count());
        }
    }

    #[test]
    fn the_place_of_a_row_counts_the_values_before_it(nulls: Vec<bool>) {
        let mut bytes = bitmap(nulls.len(), |row| nulls[row]);
        bytes.extend(vec![0; nulls.iter().filter(|null| !**null).count() * 8]);
        let (column, _) = read(&bytes, ColumnType::Long, nulls.len()).expect("a column");
        let symbols = Symbols::default();
        let column = ColumnRef::new(&bytes, &column, nulls.len(), &symbols);
        let mut place = 0;
        for (row, &null) in nulls.iter().enumerate() {
            prop_assert_eq!(column.place(row), (!null).then_some(place));
            place += usize::from(!null);
        }
    }
}
