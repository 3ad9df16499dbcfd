//! The wake-up as a pipe, for systems without `eventfd`.

use rustix::fd::{AsFd, BorrowedFd};
use std::io::{self, PipeReader, PipeWriter, Read, Write};

/// A flag that can be polled: set while the pipe holds a byte.
#[derive(Debug)]
pub(super) struct Event {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Event {
    pub(super) fn new() -> io::Result<Event> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        Ok(Event { reader, writer })
    }

    pub(super) fn fire(&self) {
        // A full pipe means that it has fired already; nothing else can fail. `write_all` so that
        // an interrupted call is repeated.
        let _ = (&self.writer).write_all(&[1]);
    }

    pub(super) fn drain(&self) -> bool {
        let mut fired = false;
        let mut bytes = [0_u8; 64];
        loop {
            match (&self.reader).read(&mut bytes) {
                Ok(count) => {
                    fired |= count > 0;
                    if count < bytes.len() {
                        return fired;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return fired,
            }
        }
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
