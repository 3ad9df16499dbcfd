use super::*;
use crate::time::SystemClock;
use crate::transport::testing::{BlackHole, LONG, within};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

fn local_listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address where nobody listens.
fn closed() -> SocketAddr {
    local_listener().1
}

#[test]
fn conn_11_nodelay_and_keepalive_are_on() {
    let (_listener, address) = local_listener();
    let wake = Wake::new().unwrap();
    let stream = connect(&SystemClock, &[address], &wake, within(LONG)).unwrap();
    assert!(sockopt::tcp_nodelay(&stream).unwrap());
    assert!(sockopt::socket_keepalive(&stream).unwrap());
    // QRY-17
    assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), Duration::from_secs(15));
    assert_eq!(sockopt::tcp_keepintvl(&stream).unwrap(), Duration::from_secs(5));
    assert_eq!(sockopt::tcp_keepcnt(&stream).unwrap(), 3);
    let blocked = io::Read::read(&mut &stream, &mut [0]).unwrap_err();
    assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn conn_08_every_address_that_failed_is_told() {
    let wake = Wake::new().unwrap();
    let (a, b) = (closed(), closed());
    let failed = connect(&SystemClock, &[a, b], &wake, within(LONG)).unwrap_err();
    let Halt::Failed(reason) = failed else { panic!("{failed:?}") };
    assert!(reason.starts_with(&format!("{a}: ")), "{reason}");
    assert!(reason.contains(&format!(", {b}: ")), "{reason}");
    assert_eq!(reason.to_lowercase().matches("refused").count(), 2, "{reason}");
}

#[test]
fn conn_01_a_refused_address_is_followed_by_the_next() {
    let (_listener, address) = local_listener();
    let wake = Wake::new().unwrap();
    let stream = connect(&SystemClock, &[closed(), address], &wake, within(LONG)).unwrap();
    assert_eq!(stream.peer_addr().unwrap(), address);
}

/// R07
#[test]
fn conn_01_a_black_hole_gets_its_share_and_no_more() {
    let hole = BlackHole::new();
    let (_listener, address) = local_listener();
    let wake = Wake::new().unwrap();
    let limit = Duration::from_millis(600);
    let start = SystemClock.now();
    let stream = connect(&SystemClock, &[hole.address(), address], &wake, within(limit)).unwrap();
    let took = SystemClock.now() - start;
    assert_eq!(stream.peer_addr().unwrap(), address);
    assert!(took >= limit / 2, "{took:?}");
    assert!(took < limit, "{took:?}");
}

#[test]
fn conn_01_black_holes_alone_end_by_the_limit() {
    let hole = BlackHole::new();
    let wake = Wake::new().unwrap();
    let limit = Duration::from_millis(50);
    let start = SystemClock.now();
    let failed = connect(&SystemClock, &[hole.address(); 3], &wake, within(limit)).unwrap_err();
    assert!(SystemClock.now() - start >= limit);
    let Halt::Failed(reason) = failed else { panic!("{failed:?}") };
    assert_eq!(reason.matches("no answer in time").count(), 3, "{reason}");
}

#[test]
fn flush_14_a_connect_that_hangs_is_interrupted() {
    let hole = BlackHole::new();
    let wake = Wake::new().unwrap();
    let other = wake.clone();
    let firing = thread::spawn(move || other.fire());
    let failed = connect(&SystemClock, &[hole.address(); 2], &wake, Deadline::NEVER);
    assert_eq!(failed.unwrap_err(), Halt::Interrupted);
    firing.join().unwrap();
}

#[test]
fn shares_are_equal_and_never_without_a_limit() {
    let deadline = within(Duration::from_secs(300));
    let third = share(&SystemClock, deadline, 2).remaining(SystemClock.now()).unwrap();
    assert!(third <= Duration::from_secs(100) && third > Duration::from_secs(99), "{third:?}");
    assert_eq!(share(&SystemClock, Deadline::NEVER, 2), Deadline::NEVER);
}
