//! WebSocket frames of 256 KiB: ours against tungstenite's, in memory and through TCP on loopback.
//!
//! `send_*` masks from slices that the caller keeps, as the store's segments are: 16 MiB of them in
//! turn. Memory: into a sink, and from a source that gives as much as is asked for. Sockets: the
//! other end is a thread that reads, or writes, as fast as it can, so that the time is mostly that of
//! the kernel and of two threads. `stated_*` reads a header that states 16 MiB
//! and nothing behind it: the columns of the allocator say what that costs.

#[path = "../src/transport/ws/mod.rs"]
#[expect(dead_code, unused_imports, reason = "a part of the crate, measured from outside")]
mod ws;

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher, black_box};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Bytes, Message, WebSocket};
use ws::{Decoder, Encoder, Received};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const MESSAGE_BYTES: usize = 256 * 1024;
const LIMIT: usize = 16 << 20;

fn main() {
    divan::main();
}

/// Gives the same frame for ever; takes and forgets what is written.
struct Memory {
    frame: Vec<u8>,
    at: usize,
}

impl Memory {
    fn new() -> Memory {
        Memory { frame: server_frame(), at: 0 }
    }
}

impl Read for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.frame.len() {
            self.at = 0;
        }
        let count = buffer.len().min(self.frame.len() - self.at);
        buffer[..count].copy_from_slice(&self.frame[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(black_box(bytes).len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives a header that states [`LIMIT`] bytes, and then nothing.
struct Stated {
    header: &'static [u8],
}

const STATED: Stated = Stated { header: &[0x82, 127, 0, 0, 0, 0, 1, 0, 0, 0] };

impl Read for Stated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.header.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.header.read(buffer)
    }
}

impl Write for Stated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn server_frame() -> Vec<u8> {
    let mut frame = vec![0x82, 127];
    frame.extend((MESSAGE_BYTES as u64).to_be_bytes());
    frame.extend((0..MESSAGE_BYTES).map(|i| i.to_le_bytes()[0]));
    frame
}

/// Messages in turn.
struct Messages {
    all: Vec<Vec<u8>>,
    next: usize,
}

impl Messages {
    fn new() -> Messages {
        let message: Vec<u8> = (0..MESSAGE_BYTES).map(|i| i.to_le_bytes()[0]).collect();
        Messages { all: vec![message; 64], next: 0 }
    }

    fn next(&mut self) -> &[u8] {
        self.next = (self.next + 1) % self.all.len();
        black_box(&self.all[self.next])
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(LIMIT)).max_frame_size(Some(LIMIT))
}

fn theirs<S: Read + Write>(stream: S) -> WebSocket<S> {
    WebSocket::from_raw_socket(stream, Role::Client, Some(config()))
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let ours = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
    ours.set_nodelay(true).expect("an option");
    (ours, listener.accept().expect("the other end").0)
}

/// A thread that reads until the end.
fn reader() -> (TcpStream, JoinHandle<()>) {
    let (ours, mut peer) = pair();
    let thread = thread::spawn(move || {
        let mut buffer = vec![0; 256 * 1024];
        while peer.read(&mut buffer).is_ok_and(|count| count > 0) {}
    });
    (ours, thread)
}

/// A thread that writes frames until nobody reads.
fn writer() -> (TcpStream, JoinHandle<()>) {
    let (ours, mut peer) = pair();
    let thread = thread::spawn(move || {
        let frame = server_frame();
        while peer.write_all(&frame).is_ok() {}
    });
    (ours, thread)
}

fn send_ours(encoder: &mut Encoder, stream: &mut impl Write, message: &[u8]) {
    let mut taken = 0;
    loop {
        let complete = encoder.message(message, &mut taken).expect("random bytes");
        let pending = encoder.pending().expect("random bytes");
        let count = stream.write(pending).expect("a socket");
        encoder.written(count);
        if complete && encoder.is_empty() {
            return;
        }
    }
}

fn receive_ours(decoder: &mut Decoder, stream: &mut impl Read) -> Vec<u8> {
    loop {
        match decoder.next().expect("good frames") {
            Some(Received::Message(message)) => return message,
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        let count = stream.read(decoder.space()).expect("a socket");
        decoder.arrived(count);
    }
}

#[divan::bench_group(min_time = 1)]
mod memory {
    use super::*;

    #[divan::bench]
    fn send_tungstenite(bencher: Bencher) {
        let (mut socket, mut messages) = (theirs(Memory::new()), Messages::new());
        bencher.counter(BytesCount::new(MESSAGE_BYTES)).bench_local(|| {
            let bytes = Bytes::copy_from_slice(messages.next());
            socket.send(Message::Binary(bytes)).expect("a sink");
        });
    }

    #[divan::bench]
    fn send_ours(bencher: Bencher) {
        let (mut encoder, mut stream, mut messages) = (Encoder::new(), Memory::new(), Messages::new());
        bencher
            .counter(BytesCount::new(MESSAGE_BYTES))
            .bench_local(|| super::send_ours(&mut encoder, &mut stream, messages.next()));
    }

    #[divan::bench]
    fn receive_tungstenite(bencher: Bencher) {
        let mut socket = theirs(Memory::new());
        bencher.counter(BytesCount::new(MESSAGE_BYTES)).bench_local(|| {
            let message = socket.read().expect("good frames").into_data();
            assert_eq!(message.len(), MESSAGE_BYTES);
        });
    }

    #[divan::bench]
    fn receive_ours(bencher: Bencher) {
        let (mut decoder, mut stream) = (Decoder::new(LIMIT, &[]), Memory::new());
        bencher.counter(BytesCount::new(MESSAGE_BYTES)).bench_local(|| {
            let message = super::receive_ours(&mut decoder, &mut stream);
            assert_eq!(message.len(), MESSAGE_BYTES);
            decoder.recycle(message);
        });
    }

    #[divan::bench]
    fn stated_tungstenite(bencher: Bencher) {
        bencher.with_inputs(|| theirs(STATED)).bench_local_values(|mut socket| {
            assert!(matches!(socket.read(), Err(tungstenite::Error::Io(_))));
            socket
        });
    }

    #[divan::bench]
    fn stated_ours(bencher: Bencher) {
        bencher.with_inputs(|| (Decoder::new(LIMIT, &[]), STATED)).bench_local_values(
            |(mut decoder, mut stream)| {
                assert_eq!(decoder.next(), Ok(None));
                let count = stream.read(decoder.space()).expect("a header");
                decoder.arrived(count);
                assert_eq!(decoder.next(), Ok(None));
                assert!(stream.read(decoder.space()).is_err());
                decoder
            },
        );
    }
}

#[divan::bench_group(min_time = 2)]
mod socket {
    use super::*;

    #[divan::bench]
    fn send_tungstenite(bencher: Bencher) {
        let (stream, thread) = reader();
        let (mut socket, mut messages) = (theirs(stream), Messages::new());
        bencher.counter(BytesCount::new(MESSAGE_BYTES)).bench_local(|| {
            let bytes = Bytes::copy_from_slice(messages.next());
            socket.send(Message::Binary(bytes)).expect("a socket");
        });
        drop(socket);
        thread.join().expect("the reader ends");
    }

    #[divan::bench]
    fn send_ours(bencher: Bencher) {
        let (mut stream, thread) = reader();
        let (mut encoder, mut messages) = (Encoder::new(), Messages::new());
        bencher
            .counter(BytesCount::new(MESSAGE_BYTES))
            .bench_local(|| super::send_ours(&mut encoder, &mut stream, messages.next()));
        drop(stream);
        thread.join().expect("the reader ends");
    }

    #[divan::bench]
    fn receive_tungstenite(bencher: Bencher) {
        let (stream, thread) = writer();
        let mut socket = theirs(stream);
        bencher.counter(BytesCount::new(MESSAGE_BYTES)).bench_local(|| {
            let message = socket.read().expect("good frames").into_data();
            assert_eq!(message.len(), MESSAGE_BYTES);
        });
        drop(socket);
        thread.join().expect("the writer ends");
    }

    #[divan::bench]
    fn receive_ours(bencher: Bencher) {
        let (mut stream, thread) = writer();
        let mut decoder = Decoder::new(LIMIT, &[]);
        bencher.counter(BytesCount::new(MESSAGE_BYTES)).bench_local(|| {
            let message = super::receive_ours(&mut decoder, &mut stream);
            assert_eq!(message.len(), MESSAGE_BYTES);
            decoder.recycle(message);
        });
        drop(stream);
        thread.join().expect("the writer ends");
    }
}
