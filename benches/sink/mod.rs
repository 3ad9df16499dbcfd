//! A server that takes every frame and says that it was committed, and does nothing else: what is
//! measured beside it is the client. It allocates for a connection, never for a frame.

use std::io::{BufRead, BufReader, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tungstenite::handshake::derive_accept_key;

/// Bytes that came behind the upgrades, headers of frames included.
static RECEIVED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Starts to listen on loopback and returns the address, for any number of connections.
pub fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A connection that ends or breaks is over, whatever the reason.
            thread::spawn(move || serve(&stream).ok());
        }
    });
    address
}

/// Bytes received so far, by all connections.
#[allow(dead_code, reason = "not every file that includes this counts bytes")]
pub fn received_bytes() -> u64 {
    RECEIVED_BYTES.load(Ordering::Relaxed)
}

fn serve(mut stream: &TcpStream) -> Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    let answer = upgrade(&mut reader)?;
    stream.set_nodelay(true)?;
    stream.write_all(answer.as_bytes())?;
    let mut sequence = 0_i64;
    while let Some(opcode) = skip_frame(&mut reader)? {
        if opcode == BINARY {
            stream.write_all(&committed(sequence))?;
            sequence += 1;
        }
    }
    Ok(())
}

/// Reads the request and returns the answer that accepts it.
fn upgrade(reader: &mut impl BufRead) -> Result<String> {
    let mut key = String::new();
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 && !line.trim().is_empty() {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("sec-websocket-key")
        {
            key = derive_accept_key(value.trim().as_bytes());
        }
        line.clear();
    }
    Ok(format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {key}\r\nX-QWP-Version: 1\r\n\r\n"
    ))
}

/// Reads a frame and returns its opcode, `None` for one that closes.
fn skip_frame(reader: &mut impl BufRead) -> Result<Option<u8>> {
    const MASK_BYTES: u64 = 4;
    let mut head = [0; 2];
    reader.read_exact(&mut head)?;
    let mut length = [0; 8];
    let length_bytes = match head[1] & 0x7f {
        127 => 8,
        126 => 2,
        short => {
            length[7] = short;
            0
        }
    };
    reader.read_exact(&mut length[8 - length_bytes..])?;
    let mut left = u64::from_be_bytes(length) + MASK_BYTES;
    RECEIVED_BYTES.fetch_add(left + 2 + length_bytes as u64, Ordering::Relaxed);
    while left > 0 {
        let there = reader.fill_buf()?.len();
        if there == 0 {
            return Ok(None);
        }
        let taken = usize::try_from(left).map_or(there, |left| left.min(there));
        reader.consume(taken);
        left -= taken as u64;
    }
    Ok(Some(head[0] & 0x0f).filter(|opcode| *opcode != CLOSE))
}

/// The frame that says that everything up to this message is committed (wire.md 6.1).
fn committed(sequence: i64) -> [u8; 13] {
    let mut frame = [0; 13];
    frame[0] = 0x80 | BINARY;
    frame[1] = 11;
    // Status OK, the sequence, no tables.
    frame[3..11].copy_from_slice(&sequence.to_le_bytes());
    frame
}

const BINARY: u8 = 2;
const CLOSE: u8 = 8;
