use super::*;
use proptest::prelude::*;

fn written(room_bytes: usize, write: impl FnOnce(&mut Sink<'_>)) -> Vec<u8> {
    let mut room = vec![0xee; room_bytes];
    let mut sink = Sink::new(&mut room);
    write(&mut sink);
    let len = sink.finish().expect("the bound is an upper bound");
    room.truncate(len);
    room
}

/// Bit by bit, as the specification has it.
fn packed(bits: &[bool]) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    for (row, bit) in bits.iter().enumerate() {
        bytes[row / 8] |= u8::from(*bit) << (row % 8);
    }
    bytes
}

/// `bits` from bit `first` on, other bits set.
fn words(bits: &[bool], first: usize) -> Vec<u64> {
    let mut words = vec![u64::MAX; (first + bits.len()) / 64 + 1];
    for (row, bit) in bits.iter().enumerate() {
        let at = first + row;
        words[at / 64] &= !(u64::from(!bit) << (at % 64));
    }
    words
}

const ROW_COUNTS: [usize; 14] = [1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200];
const FIRST_ROWS: [usize; 8] = [0, 1, 7, 8, 63, 64, 65, 1000];

#[test]
fn lim_14_bitmaps_and_booleans_of_any_range_have_one_bit_a_row_and_spare_bits_0() {
    for count in ROW_COUNTS {
        let first = |row: usize| row == 0;
        let last = |row: usize| row + 1 == count;
        let patterns: [&dyn Fn(usize) -> bool; 5] =
            [&first, &last, &|_| true, &|row| row.is_multiple_of(3), &|row| row % 64 == 63];
        for pattern in patterns {
            let bits: Vec<bool> = (0..count).map(pattern).collect();
            for first in FIRST_ROWS {
                let words = words(&bits, first);
                let range = Bits { words: &words, first, count };
                let ones = bits.iter().filter(|bit| **bit).count();
                assert_eq!((count_ones(range), range.any()), (ones, ones > 0));

                let booleans = written(booleans_len(count), |sink| put_booleans(range, sink));
                assert_eq!(booleans, [&[0][..], &packed(&bits)].concat(), "{count} rows from {first}");

                let values = vec![0x55_i8; count - ones];
                let bound = fixed_max_len(1, count, values.len());
                let column = written(bound, |sink| put_fixed(Some(range), &values, sink));
                let null_section = if ones > 0 { [&[1][..], &packed(&bits)].concat() } else { vec![0] };
                assert_eq!(column[..null_section.len()], null_section);
                assert_eq!(column[null_section.len()..], vec![0x55; count - ones]);
            }
        }
    }
}

fn count_ones(bits: Bits<'_>) -> usize {
    bits.words().map(|word| word.count_ones() as usize).sum()
}

#[test]
fn lim_14_bits_beyond_the_words_count_as_0() {
    let bits = Bits { words: &[1 << 63], first: 63, count: 70 };
    assert_eq!(count_ones(bits), 1);
    let column = written(10, |sink| put_booleans(bits, sink));
    assert_eq!(column, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(!Bits { words: &[], first: 500, count: 9 }.any());
}

#[test]
fn e11_floats_go_out_bit_by_bit() {
    let doubles = [
        f64::NAN,
        f64::from_bits(0xfff8_0000_0000_0123),
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        5e-324,
        0.1,
    ];
    let column = written(100, |sink| put_fixed(None, &doubles, sink));
    let bits: Vec<u8> = doubles.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
    assert_eq!(column, [&[0][..], &bits].concat());
    let floats = [f32::from_bits(0xffc0_0123), f32::NEG_INFINITY, -0.0, 1e-45, 0.1];
    let column = written(100, |sink| put_fixed(None, &floats, sink));
    let bits: Vec<u8> = floats.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
    assert_eq!(column, [&[0][..], &bits].concat());
}

#[test]
fn e10_an_ipv4_address_is_written_as_a_little_endian_number() {
    let addresses = [u32::from(std::net::Ipv4Addr::new(192, 168, 1, 1)), u32::MAX, 0x8000_0000];
    let column = written(100, |sink| put_fixed(None, &addresses, sink));
    assert_eq!(column, [0, 1, 1, 168, 192, 255, 255, 255, 255, 0, 0, 0, 128]);
}

#[test]
fn lim_16_symbol_ids_are_varints_at_every_edge() {
    let edges = [0, 1, 127, 128, 129, 16_383, 16_384, 999_999, 2_097_151, 2_097_152, 268_435_455, u32::MAX];
    for (index, &edge) in edges.iter().enumerate() {
        let mut ids: Vec<u32> = edges[..=index].to_vec();
        ids.extend([edge; 9]);
        let bound = symbols_max_len(ids.len(), ids.len(), edge);
        let column = written(bound, |sink| put_symbols(None, &ids, sink));
        let mut expected = vec![0];
        for id in ids {
            let (bytes, count) = varint::encode(id.into());
            expected.extend(&bytes[..count]);
        }
        assert_eq!(column, expected, "up to {edge}");
    }
    assert_eq!(written(1, |sink| put_symbols(None, &[], sink)), [0]);
}

#[test]
fn lim_11_geohashes_of_whole_bytes_have_a_bitmap_without_nulls() {
    let cases: [(u8, u64, &[u8]); 8] = [
        (1, 1, &[0, 1, 1, 0]),
        (5, 0x1f, &[0, 5, 0x1f, 0]),
        (7, 0x7f, &[0, 7, 0x7f, 0]),
        (8, 0xff, &[1, 0, 8, 0xff, 0]),
        (9, 0x1ff, &[0, 9, 0xff, 1, 0, 0]),
        (20, 0xfffff, &[0, 20, 0xff, 0xff, 0x0f, 0, 0, 0]),
        (56, (1 << 56) - 1, &[1, 0, 56, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0]),
        (60, (1 << 60) - 1, &[0, 60, 255, 255, 255, 255, 255, 255, 255, 15, 0, 0, 0, 0, 0, 0, 0, 0]),
    ];
    for (precision, ones, expected) in cases {
        let bound = geohashes_max_len(precision, 2, 2);
        let column = written(bound, |sink| put_geohashes(precision, None, &[ones, 0], sink));
        assert_eq!(column, expected, "e08: all ones is a value at {precision}");
    }
    let nulls = Bits { words: &[0b101], first: 0, count: 3 };
    let column = written(20, |sink| put_geohashes(8, Some(nulls), &[0xff], sink));
    assert_eq!(column, [1, 0b101, 8, 0xff]);
    // no NULL among the rows of this block
    let nulls = Bits { words: &[0b100], first: 0, count: 2 };
    let column = written(20, |sink| put_geohashes(16, Some(nulls), &[1, 2], sink));
    assert_eq!(column, [1, 0, 16, 1, 0, 2, 0]);
    let column = written(20, |sink| put_geohashes(5, Some(nulls), &[1, 2], sink));
    assert_eq!(column, [0, 5, 1, 2]);
}

#[test]
fn lim_06_texts_of_a_range_start_at_offset_0() {
    let bytes = b"headfoona\xc3\xafvetail";
    let offsets = [4, 7, 7, 13];
    let column = written(texts_max_len(3, 3, 9), |sink| put_texts(None, &offsets, bytes, sink));
    let expected = b"\x00\x00\x00\x00\x00\x03\x00\x00\x00\x03\x00\x00\x00\x09\x00\x00\x00foona\xc3\xafve";
    assert_eq!(column, expected);
    // no value at all still has an offset
    let nulls = Bits { words: &[0b111], first: 0, count: 3 };
    let column = written(texts_max_len(3, 0, 0), |sink| put_texts(Some(nulls), &[13], bytes, sink));
    assert_eq!(column, [1, 7, 0, 0, 0, 0]);
}

#[test]
fn texts_outside_of_their_bytes_spoil_the_message() {
    for offsets in [&[][..], &[0, 5], &[3, 2], &[5, 5]] {
        let mut room = [0; 100];
        let mut sink = Sink::new(&mut room);
        put_texts(None, offsets, b"abcd", &mut sink);
        assert_eq!(sink.finish(), None, "{offsets:?}");
    }
}

#[test]
fn lim_10_decimals_are_cut_to_the_limbs_of_their_width() {
    let minus_two = [u64::MAX - 1, u64::MAX, u64::MAX, u64::MAX];
    let limbs = [1, 2, 3, 4];
    let le = |limbs: &[u64]| -> Vec<u8> { limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect() };
    let values = [minus_two, limbs];
    for count in [1, 2, 4] {
        let column = written(decimals_max_len(count, 2, 2), |sink| match count {
            1 => put_decimals::<1>(18, None, &values, sink),
            2 => put_decimals::<2>(18, None, &values, sink),
            _ => put_decimals::<4>(18, None, &values, sink),
        });
        assert_eq!(column, [&[0, 18][..], &le(&minus_two[..count]), &le(&limbs[..count])].concat());
    }
    let nulls = Bits { words: &[1], first: 0, count: 1 };
    let column = written(10, |sink| put_decimals::<1>(2, Some(nulls), &[], sink));
    assert_eq!(column, [1, 1, 2]);
}

#[test]
fn e02_a_null_array_is_a_bit() {
    let encoded = [1, 0, 0, 0, 0];
    let nulls = Bits { words: &[0b10], first: 0, count: 2 };
    let column = written(arrays_max_len(2, 5), |sink| put_arrays(Some(nulls), &encoded, sink));
    assert_eq!(column, [1, 0b10, 1, 0, 0, 0, 0]);
}

#[test]
fn lim_15_timestamps_have_an_encoding_byte_behind_the_nulls() {
    let nulls = Bits { words: &[0b0101_0010], first: 1, count: 6 };
    let bound = timestamps_max_len(6, 3);
    let column = written(bound, |sink| put_timestamps(Some(nulls), &[100, 110, 125], sink));
    assert_eq!(column[..3], [1, 0b10_1001, gorilla::DELTA]);
    assert_eq!(column[19..], [0x15, 0x00]);
    let none = written(2, |sink| put_timestamps(None, &[], sink));
    assert_eq!(none, [0, gorilla::PLAIN]);
}

proptest! {
    #[test]
    fn a_range_of_a_bitmap_is_what_its_rows_say(bits: Vec<bool>, first in 0_usize..300) {
        let words = words(&bits, first);
        let range = Bits { words: &words, first, count: bits.len() };
        let column = written(booleans_len(bits.len()), |sink| put_booleans(range, sink));
        prop_assert_eq!(&column[1..], packed(&bits));
    }

    #[test]
    fn a_sink_that_is_too_short_is_told_so(room_bytes in 0_usize..40, ids in prop::collection::vec(any::<u32>(), 1..20)) {
        let exact: usize = 1 + ids.iter().map(|id| varint::len((*id).into())).sum::<usize>();
        let mut room = vec![0; room_bytes];
        let mut sink = Sink::new(&mut room);
        put_symbols(None, &ids, &mut sink);
        prop_assert!(sink.finish().is_none_or(|len| len == exact));
        prop_assert!(room_bytes >= exact || sink.finish().is_none());
    }
}
