//! The other end of a simulated connection.

use std::time::{Duration, Instant};

/// A scripted server: told what the client does, it says what it does in turn.
pub(crate) trait SimPeer: Send {
    /// The connection was upgraded.
    fn on_connect(&mut self, now: Instant) -> Vec<PeerAction> {
        let _ = now;
        Vec::new()
    }

    /// A whole message came.
    fn on_message(&mut self, message: &[u8], now: Instant) -> Vec<PeerAction>;

    /// A PING came.
    fn on_ping(&mut self, now: Instant) -> Vec<PeerAction> {
        let _ = now;
        vec![Act::Pong.now()]
    }

    /// A CLOSE came.
    fn on_close(&mut self, code: u16, now: Instant) -> Vec<PeerAction> {
        let _ = now;
        vec![Act::Close { code: Some(code), reason: String::new() }.now(), Act::End.now()]
    }

    /// The time of an [`Act::Timer`] has come.
    fn on_timer(&mut self, now: Instant) -> Vec<PeerAction> {
        let _ = now;
        Vec::new()
    }
}

/// What a peer does, and how much later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerAction {
    pub(crate) after: Duration,
    pub(crate) act: Act,
}

/// What a peer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Sends a binary message.
    Message(Vec<u8>),
    /// Answers a PING.
    Pong,
    /// Sends a CLOSE.
    Close { code: Option<u16>, reason: String },
    /// Ends the stream without a word. What the client sends later is lost.
    End,
    /// Resets the connection.
    Reset,
    /// Reads nothing until [`Act::Read`].
    StopReading,
    /// Reads again.
    Read,
    /// Wants [`SimPeer::on_timer`] to be called.
    Timer,
}

impl Act {
    /// At once.
    pub(crate) fn now(self) -> PeerAction {
        self.after(Duration::ZERO)
    }

    /// That much later. What arrives at the client arrives in the order of the actions all the same.
    pub(crate) fn after(self, after: Duration) -> PeerAction {
        PeerAction { after, act: self }
    }

    /// Whether it arrives at the client.
    pub(super) fn arrives(&self) -> bool {
        match self {
            Act::Message(_) | Act::Pong | Act::Close { .. } | Act::End | Act::Reset => true,
            Act::StopReading | Act::Read | Act::Timer => false,
        }
    }
}

/// Reads everything and says nothing, but PONG.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silent;

impl SimPeer for Silent {
    fn on_message(&mut self, _: &[u8], _: Instant) -> Vec<PeerAction> {
        Vec::new()
    }
}

/// Answers each message.
impl<F: FnMut(&[u8], Instant) -> Vec<PeerAction> + Send> SimPeer for F {
    fn on_message(&mut self, message: &[u8], now: Instant) -> Vec<PeerAction> {
        self(message, now)
    }
}
