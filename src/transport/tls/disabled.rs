//! Builds without TLS.

use super::TlsOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::time::{Clock, Deadline};
use crate::transport::halt::Halt;
use crate::transport::wake::Wake;
use std::io;
use std::net::TcpStream;

/// There is none.
#[derive(Debug, Clone)]
pub(crate) enum TlsSetup {}

impl TlsSetup {
    pub(crate) fn new(_options: &TlsOptions) -> Result<TlsSetup> {
        Err(Error::new(ErrorKind::Config, "no TLS").because("the crate was built without its feature tls"))
    }

    pub(in crate::transport) fn handshake(
        &self,
        _clock: &dyn Clock,
        _host: &str,
        _socket: TcpStream,
        _wake: &Wake,
        _deadline: Deadline,
    ) -> std::result::Result<TlsStream, Halt> {
        match *self {}
    }
}

/// There is none.
#[derive(Debug)]
pub(in crate::transport) enum TlsStream {}

impl TlsStream {
    pub(in crate::transport) fn read(&mut self, _buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match *self {}
    }

    pub(in crate::transport) fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(in crate::transport) fn flush(&mut self) -> io::Result<bool> {
        match *self {}
    }

    pub(in crate::transport) fn has_ended(&self) -> bool {
        match *self {}
    }

    pub(in crate::transport) fn has_unsent(&self) -> bool {
        match *self {}
    }

    pub(in crate::transport) fn socket(&self) -> &TcpStream {
        match *self {}
    }
}
