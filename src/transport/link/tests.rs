use super::*;
use crate::time::SystemClock;
use crate::transport::connector::SocketConnector;
use crate::transport::testing::*;
use crate::transport::{Connector, Direction};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

/// A link, the server at its other end behind the upgrade, and the wake-up of the waits.
fn connect(script: impl FnOnce(TcpStream) + Send + 'static) -> (Box<dyn Link>, Server, Wake) {
    let server = Server::new(|mut stream| {
        upgrade(&mut stream);
        script(stream);
    });
    let (endpoint, wake) = (server.endpoint(), Wake::new().unwrap());
    let connector = SocketConnector::new(Arc::new(SystemClock), None);
    let link = connector.connect(&attempt(&endpoint, &wake)).unwrap();
    (link, server, wake)
}

#[test]
fn messages_of_all_sizes_go_both_ways() {
    const SIZES: [usize; 9] = [0, 1, 125, 126, 65_535, 65_536, 200_000, 1 << 20, 3];
    let (mut link, server, wake) = connect(|mut stream| {
        for count in SIZES {
            let (first, payload) = read_frame(&mut stream);
            assert_eq!((first, payload == pattern(count)), (0x82, true), "{count}");
            stream.write_all(&frame(0x82, &payload)).unwrap();
        }
    });
    for count in SIZES {
        assert_eq!(send_all(&mut *link, &wake, &pattern(count)), []);
        let Ok(Incoming::Message(message)) = next(&mut *link, &wake) else { panic!("{count}") };
        assert!(message == pattern(count), "{count}");
        link.recycle(message);
    }
    assert!(matches!(next(&mut *link, &wake), Err(LinkError::Ended)));
    server.join();
}

/// R20
#[test]
fn conn_16_answers_are_read_while_sending_is_blocked() {
    const ANSWERS: usize = 200;
    let (mut link, server, wake) = connect(|mut stream| {
        // Reads nothing before its answers, more than the buffers hold, were taken.
        for _ in 0..ANSWERS {
            stream.write_all(&frame(0x82, &pattern(100_000))).unwrap();
        }
        assert_eq!(read_frame(&mut stream).1.len(), 16 << 20);
    });
    let mut received = send_all(&mut *link, &wake, &vec![5; 16 << 20]);
    while received.len() < ANSWERS {
        received.push(next(&mut *link, &wake).unwrap());
    }
    assert!(received.iter().all(|incoming| *incoming == Incoming::Message(pattern(100_000))));
    server.join();
}

/// R20
#[test]
fn conn_10_an_answer_of_2_mib_is_taken_and_one_byte_more_is_not() {
    let (mut link, server, wake) = connect(|mut stream| {
        stream.write_all(&frame(0x82, &pattern(2 << 20))).unwrap();
        // The client may leave in the middle.
        let _ = stream.write_all(&frame(0x82, &pattern((2 << 20) + 1)));
        assert_eq!(read_frame(&mut stream), (0x88, 1009_u16.to_be_bytes().to_vec()));
    });
    assert!(next(&mut *link, &wake).unwrap() == Incoming::Message(pattern(2 << 20)));
    let Err(LinkError::Protocol(reason)) = next(&mut *link, &wake) else { panic!("taken") };
    assert_eq!(reason, "the server sent a message of more than 2097152 bytes");
    server.join();
}

/// Q08
#[test]
fn conn_13_fragments_of_one_byte_with_pings_between_become_one_message() {
    let server = Server::new(|mut stream| {
        upgrade(&mut stream);
        let mut bytes = frame(0x02, b"");
        for byte in pattern(1000) {
            bytes.extend(frame(0x00, &[byte]));
            bytes.extend(frame(0x89, &[byte]));
        }
        bytes.extend(frame(0x80, b""));
        bytes.extend(frame(0x02, b"never ended"));
        bytes.extend(frame(0x88, b""));
        stream.write_all(&bytes).unwrap();
        let mut last = (0, Vec::new());
        while last.0 != 0x88 {
            last = read_frame(&mut stream);
            assert!(last.0 == 0x8a || last == (0x88, Vec::new()), "{last:?}");
        }
    });
    let (endpoint, wake) = (server.endpoint(), Wake::new().unwrap());
    let query = crate::transport::Attempt { direction: Direction::Egress, ..attempt(&endpoint, &wake) };
    let mut link = SocketConnector::new(Arc::new(SystemClock), None).connect(&query).unwrap();
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(pattern(1000)));
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Close { code: None, reason: String::new() });
    assert!(matches!(next(&mut *link, &wake), Err(LinkError::Ended)));
    server.join();
}

#[test]
fn a_ping_is_answered_while_the_link_only_receives() {
    let (mut link, server, wake) = connect(|mut stream| {
        stream.write_all(&frame(0x89, b"are you there")).unwrap();
        assert_eq!(read_frame(&mut stream), (0x8a, b"are you there".to_vec()));
        stream.write_all(&frame(0x82, b"go on")).unwrap();
        assert_eq!(read_frame(&mut stream), (0x89, Vec::new()));
        stream.write_all(&frame(0x8a, b"")).unwrap();
    });
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(b"go on".to_vec()));
    // Leaves by the wait alone.
    link.ping().unwrap();
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Pong);
    server.join();
}

#[test]
fn a_close_is_answered_with_its_code_and_nothing_follows() {
    let (mut link, server, wake) = connect(|mut stream| {
        stream.write_all(&frame(0x88, b"\x03\xf1restarting")).unwrap();
        // Nobody looks at this.
        stream.write_all(&frame(0x81, b"text")).unwrap();
        assert_eq!(read_frame(&mut stream), (0x88, 1009_u16.to_be_bytes().to_vec()));
        expect_closed(&mut stream);
    });
    let close = Incoming::Close { code: Some(1009), reason: "restarting".to_owned() };
    assert_eq!(next(&mut *link, &wake).unwrap(), close);
    assert!(matches!(next(&mut *link, &wake), Err(LinkError::Ended)));
    assert!(matches!(link.send(b"late", &mut 0), Err(LinkError::Ended)));
    assert!(link.flush().unwrap());
    drop(link);
    server.join();
}

#[test]
fn a_message_that_has_begun_is_completed_before_the_close() {
    let (go, going) = std::sync::mpsc::channel();
    let (mut link, server, wake) = connect(move |mut stream| {
        going.recv_timeout(LONG).unwrap();
        assert_eq!(read_frame(&mut stream).1.len(), 16 << 20);
        assert_eq!(read_frame(&mut stream), (0x88, vec![3, 0xe8]));
    });
    let message = vec![1; 16 << 20];
    let mut taken = 0;
    assert!(!link.send(&message, &mut taken).unwrap(), "more than the buffers hold");
    link.close(1000).unwrap();
    go.send(()).unwrap();
    while !link.send(&message, &mut taken).unwrap() {
        assert_eq!(link.wait(true, &wake, within(LONG)).unwrap(), Waited::Ready);
    }
    while !link.flush().unwrap() {
        assert_eq!(link.wait(true, &wake, within(LONG)).unwrap(), Waited::Ready);
    }
    server.join();
}

#[test]
fn conn_13_a_violation_ends_the_link_and_the_server_is_told() {
    let (mut link, server, wake) = connect(|mut stream| {
        stream.write_all(&[frame(0x82, b"good"), frame(0x81, b"text")].concat()).unwrap();
        assert_eq!(read_frame(&mut stream), (0x88, 1003_u16.to_be_bytes().to_vec()));
    });
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(b"good".to_vec()));
    for _ in 0..2 {
        let Err(LinkError::Protocol(reason)) = next(&mut *link, &wake) else { panic!("taken") };
        assert_eq!(reason, "the server sent a text message");
    }
    server.join();
}

#[test]
fn flush_14_a_wait_ends_by_wake_up_deadline_and_data() {
    let (mut link, server, wake) = connect(|mut stream| {
        assert_eq!(read_frame(&mut stream).1, b"go");
        stream.write_all(&frame(0x82, b"1")).unwrap();
        stream.write_all(&frame(0x82, b"2")).unwrap();
        expect_closed(&mut stream);
    });
    assert_eq!(link.recv().unwrap(), None);
    let start = SystemClock.now();
    let short = Duration::from_millis(20);
    assert_eq!(link.wait(false, &wake, within(short)).unwrap(), Waited::TimedOut);
    assert!(SystemClock.now() - start >= short);
    wake.fire();
    assert_eq!(link.wait(false, &wake, within(LONG)).unwrap(), Waited::Woken);
    let other = wake.clone();
    let firing = std::thread::spawn(move || other.fire());
    assert_eq!(link.wait(false, &wake, Deadline::NEVER).unwrap(), Waited::Woken);
    firing.join().unwrap();
    assert_eq!(link.wait(true, &wake, within(LONG)).unwrap(), Waited::Ready, "there is room to send");
    assert_eq!(send_all(&mut *link, &wake, b"go"), []);
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(b"1".to_vec()));
    // The second may have been read with the first: then nothing on the socket announces it.
    assert_eq!(next(&mut *link, &wake).unwrap(), Incoming::Message(b"2".to_vec()));
    drop(link);
    server.join();
}

#[test]
fn a_wait_on_an_idle_connection_asks_the_system_once() {
    let server = Server::new(|mut stream| {
        upgrade(&mut stream);
        expect_closed(&mut stream);
    });
    let (endpoint, wake) = (server.endpoint(), Wake::new().unwrap());
    let clock = Arc::new(CountingClock::default());
    let connector = SocketConnector::new(Arc::clone(&clock) as Arc<dyn Clock>, None);
    let mut link = connector.connect(&attempt(&endpoint, &wake)).unwrap();
    assert_eq!(link.recv().unwrap(), None);
    let before = clock.0.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(link.wait(false, &wake, within(Duration::from_millis(100))).unwrap(), Waited::TimedOut);
    let turns = clock.0.load(std::sync::atomic::Ordering::Relaxed) - before;
    assert!(turns <= 3, "{turns}");
    drop(link);
    server.join();
}

#[test]
fn a_reset_is_an_error_of_the_socket() {
    let (mut link, server, wake) = connect(|stream| {
        // Data that nobody reads turns the close into a reset.
        stream.peek(&mut [0]).unwrap();
    });
    link.ping().unwrap();
    assert!(link.flush().unwrap());
    server.join();
    match next(&mut *link, &wake) {
        Err(LinkError::Io(e)) => assert_eq!(e.kind(), io::ErrorKind::ConnectionReset),
        other => panic!("{other:?}"),
    }
}
