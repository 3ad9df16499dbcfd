use super::*;
use proptest::prelude::*;

fn encoded(values: &[i64]) -> Vec<u8> {
    let mut room = vec![0xee; max_len(values.len())];
    let mut sink = Sink::new(&mut room);
    encode(values, &mut sink);
    let written = sink.finish().expect("max_len is an upper bound");
    room.truncate(written);
    room
}

fn decoded(bytes: &[u8], count: usize) -> Result<Vec<i64>, GorillaFault> {
    let mut values = Vec::new();
    decode(bytes, count, &mut values).map(|taken| {
        assert_eq!(taken, bytes.len());
        values
    })
}

/// Values 0, 0, then one whose delta-of-delta is `dod`.
fn with_dod(dod: i64) -> [i64; 3] {
    [0, 0, dod]
}

#[test]
fn lim_15_every_bucket_edge_has_the_length_of_its_bucket() {
    // dod, bits of the field
    let cases: [(i64, usize); 22] = [
        (0, 1),
        (1, 9),
        (-1, 9),
        (62, 9),
        (63, 9),
        (64, 12),
        (-63, 9),
        (-64, 9),
        (-65, 12),
        (254, 12),
        (255, 12),
        (256, 16),
        (-255, 12),
        (-256, 12),
        (-257, 16),
        (2046, 16),
        (2047, 16),
        (2048, 36),
        (-2048, 16),
        (-2049, 36),
        (i32::MAX as i64, 36),
        (i32::MIN as i64, 36),
    ];
    for (dod, bits) in cases {
        let values = with_dod(dod);
        let bytes = encoded(&values);
        assert_eq!(bytes[0], DELTA, "{dod}");
        assert_eq!(bytes.len(), 17 + bits.div_ceil(8), "{dod}");
        assert_eq!(decoded(&bytes, 3).as_deref(), Ok(&values[..]), "{dod}");
        // eight of them take eight times the bits to the bit
        let mut run = vec![0, 0];
        for step in 0..8 {
            run.push(if step % 2 == 0 { run[run.len() - 1] + dod } else { run[run.len() - 1] });
        }
        let bytes = encoded(&run);
        assert_eq!(decoded(&bytes, run.len()).as_deref(), Ok(&run[..]), "{dod}");
    }
}

#[test]
fn lim_15_what_does_not_fit_is_written_plain() {
    let cases: [&[i64]; 12] = [
        &[],
        &[5],
        &[5, -5],
        &with_dod(i32::MAX as i64 + 1),
        &with_dod(i32::MIN as i64 - 1),
        &[i64::MIN, i64::MAX, 0],
        &[i64::MAX, i64::MIN, i64::MAX],
        &[0, i64::MIN, i64::MIN],
        &[0, 1, i64::MIN],
        // the delta fits, the difference of deltas does not
        &[0, i64::MAX, 0],
        &[i64::MIN, 0, i64::MIN],
        &[0, 0, 0, 0, 0, i64::MAX],
    ];
    for values in cases {
        let bytes = encoded(values);
        assert_eq!((bytes[0], bytes.len()), (PLAIN, max_len(values.len())), "{values:?}");
        assert_eq!(decoded(&bytes, values.len()).as_deref(), Ok(values));
    }
}

#[test]
fn lim_15_equal_falling_and_alternating_values_take_few_bits() {
    let alternating: Vec<i64> = (0..100).map(|i| i % 2 * 15).collect();
    let equal = vec![i64::MIN; 1000];
    let falling: Vec<i64> = (0..1000).map(|i| 1_700_000_000_000_000 - i * 250).collect();
    let extremes: Vec<i64> = (0..50).map(|i| i64::MAX - 49 + i).collect();
    for (values, bytes) in
        [(equal, 17 + 125), (falling, 17 + 125), (alternating, 17 + 111), (extremes, 17 + 6)]
    {
        let encoded = encoded(&values);
        assert_eq!(encoded.len(), bytes);
        assert_eq!(decoded(&encoded, values.len()), Ok(values));
    }
}

#[test]
fn lim_15_the_bit_stream_is_smaller_from_3_values_on() {
    for count in 3..40 {
        let worst: Vec<i64> =
            (0..count).map(|i| if i % 2 == 0 { 0 } else { i64::from(i32::MAX) / 2 }).collect();
        let bytes = encoded(&worst);
        assert_eq!(bytes[0], DELTA);
        assert!(bytes.len() < max_len(worst.len()), "{count}");
        assert_eq!(decoded(&bytes, worst.len()), Ok(worst));
    }
}

#[test]
fn lim_15_delta_in_front_of_fewer_than_3_values_is_read_as_plain() {
    assert_eq!(decoded(&[DELTA], 0), Ok(vec![]));
    assert_eq!(decoded(&[DELTA, 5, 0, 0, 0, 0, 0, 0, 0], 1), Ok(vec![5]));
    let two = [DELTA, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(decoded(&two, 2), Ok(vec![5, 6]));
}

#[test]
fn lim_15_another_encoding_byte_is_refused() {
    for byte in 2..=u8::MAX {
        assert_eq!(decoded(&[byte, 0, 0, 0, 0, 0, 0, 0, 0], 1), Err(GorillaFault::Encoding(byte)));
    }
}

#[test]
fn lim_15_a_column_cut_at_any_byte_is_refused_and_leaves_nothing() {
    let values: [&[i64]; 3] =
        [&[0, 10, 25, 27, 1000, 90_000, 0], &[1, 2], &[0, 0, i64::from(i32::MAX), 7, 7, 7, 7, 7]];
    for values in values {
        let bytes = encoded(values);
        for cut in 0..bytes.len() {
            let mut out = vec![3];
            assert_eq!(decode(&bytes[..cut], values.len(), &mut out), Err(GorillaFault::Truncated), "{cut}");
            assert_eq!(out, [3]);
        }
    }
}

#[test]
fn a_count_that_the_bytes_cannot_hold_allocates_nothing() {
    for encoding in [PLAIN, DELTA] {
        let mut bytes = vec![0; 40];
        bytes[0] = encoding;
        for count in [1000, usize::MAX / 8, usize::MAX] {
            let mut out = Vec::new();
            assert_eq!(decode(&bytes, count, &mut out), Err(GorillaFault::Truncated));
            assert_eq!(out.capacity(), 0);
        }
    }
}

#[test]
fn a_sink_without_room_says_so() {
    let mut room = [0; 24];
    let mut sink = Sink::new(&mut room);
    encode(&[1, 2, 3], &mut sink);
    assert_eq!(sink.finish(), None);
}

/// Timestamps as they occur: a start, then steps whose differences are of any bucket.
fn series() -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![
        4 => Just(0_i64),
        2 => -64_i64..64,
        2 => -256_i64..256,
        2 => -2048_i64..2048,
        2 => i64::from(i32::MIN)..=i64::from(i32::MAX),
    ];
    (any::<i64>(), prop::collection::vec(step, 0..300)).prop_map(|(start, dods)| {
        let (mut value, mut delta) = (start, 0_i64);
        dods.iter()
            .map(|dod| {
                delta = delta.wrapping_add(*dod);
                value = value.wrapping_add(delta);
                value
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn values_come_back_as_they_went(values in prop_oneof![series(), any::<Vec<i64>>()], tail: Vec<u8>) {
        let mut bytes = encoded(&values);
        let written = bytes.len();
        bytes.extend(tail);
        let mut out = vec![1];
        prop_assert_eq!(decode(&bytes, values.len(), &mut out), Ok(written));
        prop_assert_eq!(&out[1..], &values[..]);
        let mut reader = Reader::new(&bytes);
        let mut read_out = Vec::new();
        prop_assert!(read(&mut reader, "t", values.len(), &mut read_out).is_ok());
        prop_assert_eq!((reader.offset(), read_out), (written, values));
    }

    #[test]
    fn foreign_bytes_never_panic(data: Vec<u8>) {
        fuzz_gorilla(&data);
    }
}
