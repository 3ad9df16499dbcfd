use super::decode::drive;
use super::*;
use crate::transport::testing::{frame, pattern};
use proptest::prelude::*;

const LIMIT: usize = 200_000;

/// What a server reads: `(first byte, payload)` of each frame, unmasked one byte at a time.
fn unmask_all(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let [first, second, rest @ ..] = bytes {
        assert!(second & 0x80 != 0, "a client masks");
        let (length, rest) = match second & 0x7f {
            126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            127 => (u64::from_be_bytes(rest[..8].try_into().unwrap()) as usize, &rest[8..]),
            short => (usize::from(short), rest),
        };
        let shortest = match length {
            0..126 => 0,
            126..=0xffff => 126,
            _ => 127,
        };
        assert!(second & 0x7f == length as u8 || second & 0x7f == shortest);
        let (key, rest) = rest.split_at(4);
        let payload = rest[..length].iter().enumerate().map(|(i, b)| b ^ key[i % 4]).collect();
        frames.push((*first, payload));
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty());
    frames
}

/// Sends as a link does, with a socket that takes `at_once` bytes.
fn send(encoder: &mut Encoder, message: &[u8], at_once: usize, wire: &mut Vec<u8>) {
    let mut taken = 0;
    while !encoder.message(message, &mut taken).unwrap() {
        write(encoder, at_once, wire);
    }
    assert_eq!(taken, message.len());
}

fn write(encoder: &mut Encoder, at_once: usize, wire: &mut Vec<u8>) {
    let pending = encoder.pending().unwrap();
    let count = pending.len().min(at_once);
    wire.extend_from_slice(&pending[..count]);
    encoder.written(count);
}

fn drain(encoder: &mut Encoder, wire: &mut Vec<u8>) {
    while !encoder.is_empty() {
        write(encoder, usize::MAX, wire);
    }
}

#[test]
fn lim_17_messages_of_every_length_form_are_one_masked_frame() {
    for count in [0, 1, 125, 126, 127, 65_535, 65_536, 300_000] {
        for at_once in [1, 1000, usize::MAX] {
            let message = pattern(count);
            let (mut encoder, mut wire) = (Encoder::new(), Vec::new());
            send(&mut encoder, &message, at_once, &mut wire);
            drain(&mut encoder, &mut wire);
            assert_eq!(unmask_all(&wire), [(0x82, message)], "{count} by {at_once}");
        }
    }
}

#[test]
fn sec_02_every_frame_has_its_own_key() {
    let (mut encoder, mut wire) = (Encoder::new(), Vec::new());
    for _ in 0..500 {
        send(&mut encoder, &[], usize::MAX, &mut wire);
    }
    drain(&mut encoder, &mut wire);
    let keys: std::collections::HashSet<&[u8]> = wire.chunks(6).map(|frame| &frame[2..]).collect();
    assert!(keys.len() > 495, "{}", keys.len());
}

#[test]
fn control_frames_leave_between_messages_and_nothing_behind_a_close() {
    let (mut encoder, mut wire) = (Encoder::new(), Vec::new());
    let message = pattern(100_000);
    let mut taken = 0;
    assert!(!encoder.message(&message, &mut taken).unwrap());
    encoder.pong(Control::new(b"first"));
    encoder.pong(Control::new(b"latest"));
    encoder.ping();
    encoder.ping();
    write(&mut encoder, usize::MAX, &mut wire);
    assert!(!encoder.is_empty(), "they wait for the end of the message");
    assert!(encoder.message(&message, &mut taken).unwrap());
    send(&mut encoder, b"next", usize::MAX, &mut wire);
    encoder.close(Some(1000));
    encoder.close(Some(1001));
    assert!(encoder.is_closed());
    drain(&mut encoder, &mut wire);
    let expected: [(u8, &[u8]); 5] =
        [(0x82, &message), (0x8a, b"latest"), (0x89, b""), (0x82, b"next"), (0x88, &[0x03, 0xe8])];
    assert_eq!(unmask_all(&wire), expected.map(|(first, payload)| (first, payload.to_vec())));
}

#[test]
fn a_flood_of_control_frames_does_not_grow_the_queue() {
    let (mut encoder, mut wire) = (Encoder::new(), Vec::new());
    for _ in 0..10_000 {
        encoder.pong(Control::new(&[7; 125]));
        encoder.ping();
        encoder.pending().unwrap();
    }
    drain(&mut encoder, &mut wire);
    assert!(wire.len() <= BLOCK_BYTES + 200, "{}", wire.len());
}

#[test]
fn lim_17_every_length_form_is_read() {
    for count in [0, 1, 125, 126, 127, 65_535, 65_536, LIMIT] {
        let message = pattern(count);
        let wire = frame(0x82, &message);
        for piece in [997, BLOCK_BYTES] {
            assert_eq!(drive(&wire, piece, LIMIT), (vec![Received::Message(message.clone())], None));
        }
    }
}

/// Messages, fragments, and control frames between the fragments; with what they mean.
fn conversation() -> (Vec<u8>, Vec<Received>) {
    let large = pattern(70_000);
    let wire = [
        frame(0x82, b"one"),
        frame(0x02, b"be"),
        frame(0x89, b"are you there"),
        frame(0x00, b""),
        frame(0x00, b"gi"),
        frame(0x8a, b"unsolicited"),
        frame(0x80, b"n"),
        frame(0x82, b""),
        frame(0x82, &large),
        frame(0x02, &large),
        frame(0x80, &large),
        frame(0x88, b"\x03\xe9going away"),
    ]
    .concat();
    let received = vec![
        Received::Message(b"one".to_vec()),
        Received::Ping(Control::new(b"are you there")),
        Received::Pong,
        Received::Message(b"begin".to_vec()),
        Received::Message(Vec::new()),
        Received::Message(large.clone()),
        Received::Message([large.clone(), large].concat()),
        Received::Close { code: Some(1001), reason: "going away".to_owned() },
    ];
    (wire, received)
}

#[test]
fn conn_12_any_pieces_give_the_same_messages() {
    let (wire, expected) = conversation();
    for piece in [1, 2, 3, 5, 7, 13, 64, 1000, 16_384, BLOCK_BYTES] {
        let (received, violation) = drive(&wire, piece, LIMIT);
        assert_eq!(violation, None);
        assert_eq!(received, expected, "pieces of {piece}");
    }
}

#[test]
fn conn_12_every_split_in_two_gives_the_same_messages() {
    let (wire, expected) = conversation();
    let starts = (0..200).chain(69_000..71_000).chain(wire.len() - 40..wire.len());
    for split in starts {
        let (head, tail) = wire.split_at(split);
        let mut decoder = Decoder::new(LIMIT, head);
        let mut received = Vec::new();
        let mut rest = tail;
        loop {
            while let Some(one) = decoder.next().unwrap() {
                received.push(one);
            }
            if decoder.is_closed() {
                break;
            }
            let space = decoder.space();
            let count = space.len().min(rest.len());
            assert!(count > 0, "ends early, split at {split}");
            space[..count].copy_from_slice(&rest[..count]);
            decoder.arrived(count);
            rest = &rest[count..];
        }
        assert_eq!(received, expected, "split at {split}");
    }
}

#[test]
fn conn_13_every_violation_fails_the_connection_in_any_pieces() {
    let mut masked = frame(0x82, b"");
    masked[1] |= 0x80;
    masked.extend([1, 2, 3, 4]);
    let close = |code: u16| frame(0x88, &code.to_be_bytes());
    let mut cases: Vec<(&str, Vec<u8>, Violation)> = vec![
        ("masked", masked, Violation::Masked),
        ("rsv1", frame(0xc2, b""), Violation::ReservedBit),
        ("rsv2", frame(0xa2, b""), Violation::ReservedBit),
        ("rsv3", frame(0x92, b""), Violation::ReservedBit),
        ("rsv on a control frame", frame(0xc9, b""), Violation::ReservedBit),
        ("text", frame(0x81, b"x"), Violation::Text),
        ("text in fragments", frame(0x01, b"x"), Violation::Text),
        ("no start", frame(0x80, b"x"), Violation::NoStart),
        ("no start, not final", frame(0x00, b"x"), Violation::NoStart),
        ("no start after an end", [frame(0x82, b"a"), frame(0x80, b"b")].concat(), Violation::NoStart),
        ("new start", [frame(0x02, b"a"), frame(0x82, b"b")].concat(), Violation::NewStart),
        ("new fragmented start", [frame(0x02, b"a"), frame(0x02, b"b")].concat(), Violation::NewStart),
        ("text inside", [frame(0x02, b"a"), frame(0x81, b"b")].concat(), Violation::NewStart),
        ("ping in fragments", frame(0x09, b""), Violation::FragmentedControl),
        ("pong in fragments", frame(0x0a, b""), Violation::FragmentedControl),
        ("close in fragments", frame(0x08, b""), Violation::FragmentedControl),
        ("ping of 126", frame(0x89, &[0; 126]), Violation::LongControl),
        ("pong of 126", frame(0x8a, &[0; 126]), Violation::LongControl),
        ("close of 126", frame(0x88, &[0x03; 126]), Violation::LongControl),
        ("125 in two bytes", vec![0x82, 126, 0, 125], Violation::LengthForm),
        ("0 in two bytes", vec![0x82, 126, 0, 0], Violation::LengthForm),
        ("65535 in eight bytes", vec![0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], Violation::LengthForm),
        ("5 in eight bytes", vec![0x82, 127, 0, 0, 0, 0, 0, 0, 0, 5], Violation::LengthForm),
        ("ping, 5 in two bytes", vec![0x89, 126, 0, 5], Violation::LengthForm),
        ("top bit", vec![0x82, 127, 0x80, 0, 0, 0, 0, 1, 0, 0], Violation::LengthForm),
        ("all bits", [&[0x82, 127][..], &[0xff; 8]].concat(), Violation::LengthForm),
        ("one byte too many", frame(0x82, &vec![0; LIMIT + 1]), Violation::TooLarge { limit: LIMIT }),
        ("2^62 stated", vec![0x82, 127, 0x40, 0, 0, 0, 0, 0, 0, 0], Violation::TooLarge { limit: LIMIT }),
        (
            "fragments that add up",
            [frame(0x02, &vec![0; LIMIT]), frame(0x00, b""), frame(0x80, b"x")].concat(),
            Violation::TooLarge { limit: LIMIT },
        ),
        ("close of one byte", frame(0x88, &[0x03]), Violation::CloseLength),
        ("close reason", frame(0x88, b"\x03\xe8\xff"), Violation::CloseReason),
        ("close reason cut", frame(0x88, b"\x03\xe8\xc3"), Violation::CloseReason),
    ];
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        cases.push(("unknown opcode", frame(0x80 | opcode, b""), Violation::Opcode(opcode)));
    }
    let forbidden = [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, u16::MAX];
    for code in forbidden {
        cases.push(("close code", close(code), Violation::CloseCode(code)));
    }
    let before = frame(0x82, b"before");
    for (name, bytes, violation) in cases {
        let wire = [before.clone(), bytes].concat();
        let pieces: &[usize] = if wire.len() < 1000 { &[1, BLOCK_BYTES] } else { &[4096] };
        for &piece in pieces {
            let (received, found) = drive(&wire, piece, LIMIT);
            assert_eq!(found, Some(violation), "{name}");
            assert_eq!(received.first(), Some(&Received::Message(b"before".to_vec())), "{name}");
        }
    }
}

#[test]
fn conn_13_close_codes_that_may_travel_are_told() {
    for code in (1000..=1003_u16).chain(1007..=1014).chain(3000..=4999) {
        let (received, violation) = drive(&frame(0x88, &code.to_be_bytes()), 1, LIMIT);
        assert_eq!(violation, None, "{code}");
        assert_eq!(received, [Received::Close { code: Some(code), reason: String::new() }]);
    }
    let (received, _) = drive(&frame(0x88, b""), 1, LIMIT);
    assert_eq!(received, [Received::Close { code: None, reason: String::new() }]);
}

#[test]
fn conn_13_the_forbidden_close_codes_are_those_of_the_requirement() {
    for code in 0..=u16::MAX {
        let forbidden = code < 1000
            || code > 4999
            || (1016..=2999).contains(&code)
            || [1004, 1005, 1006, 1015].contains(&code);
        assert_eq!(code_may_travel(code), !forbidden, "{code}");
    }
}

#[test]
fn conn_13_a_violation_is_told_again_and_nothing_else() {
    let wire = [frame(0x81, b"x"), frame(0x82, b"y")].concat();
    let mut decoder = Decoder::new(LIMIT, &wire);
    for _ in 0..3 {
        assert_eq!(decoder.next(), Err(Violation::Text));
    }
}

#[test]
fn conn_10_a_stated_length_allocates_nothing() {
    const LARGE: usize = 16 << 20;
    let mut decoder = Decoder::new(LARGE, &[0x82, 127, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(decoder.space().len(), BLOCK_BYTES);
    let mut total = 0;
    while total < LARGE {
        let space = decoder.space();
        assert!(!space.is_empty() && space.len() <= BLOCK_BYTES);
        let count = space.len().min(10_000);
        space[..count].fill(1);
        decoder.arrived(count);
        total += count;
        if let Some(received) = decoder.next().unwrap() {
            assert_eq!(received, Received::Message(vec![1; LARGE]));
        }
    }
}

#[test]
fn a_recycled_buffer_is_used_again_and_leaks_nothing_of_its_past() {
    let mut decoder = Decoder::new(LIMIT, &frame(0x82, &[9; 1000]));
    let Ok(Some(Received::Message(message))) = decoder.next() else { panic!("no message") };
    let mut address = message.as_ptr();
    decoder.recycle(message);
    for count in [3, 2000, 5] {
        let wire = frame(0x82, &vec![1; count]);
        let space = decoder.space();
        space[..wire.len()].copy_from_slice(&wire);
        decoder.arrived(wire.len());
        let Ok(Some(Received::Message(message))) = decoder.next() else { panic!("no message") };
        assert_eq!(message, vec![1; count]);
        assert!(count > 1000 || message.as_ptr() == address, "{count}");
        address = message.as_ptr();
        decoder.recycle(message);
        assert_eq!(decoder.next(), Ok(None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn conn_12_what_is_sent_in_any_pieces_arrives_in_any_pieces(
        messages in prop::collection::vec(0..150_000_usize, 1..4),
        at_once in 100..70_000_usize,
        piece in 100..70_000_usize,
    ) {
        let (mut encoder, mut wire) = (Encoder::new(), Vec::new());
        for &count in &messages {
            send(&mut encoder, &pattern(count), at_once, &mut wire);
        }
        drain(&mut encoder, &mut wire);
        let frames = unmask_all(&wire);
        let back: Vec<u8> = frames.iter().flat_map(|(first, payload)| frame(*first, payload)).collect();
        let expected: Vec<Received> = messages.iter().map(|&n| Received::Message(pattern(n))).collect();
        prop_assert_eq!(drive(&back, piece, LIMIT), (expected, None));
    }

}

proptest! {
    #[test]
    fn sec_04_garbage_never_panics(data in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzz_ws(&data);
    }

    #[test]
    fn sec_04_garbage_behind_good_frames_never_panics(
        cut in 1..=255_u8,
        payload in prop::collection::vec(any::<u8>(), 0..300),
        garbage in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        fuzz_ws(&[&[cut][..], &frame(0x02, &payload), &frame(0x89, b"x"), &garbage].concat());
    }
}
