//! Symbol texts to ids, one table for a sender (wire.md 7).

use super::lookup::{self, Lookup};
use crate::error::{Error, ErrorKind, Result};
use crate::store::SymbolLog;

/// Bounds of the dictionary (LIM-04).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) entries: u32,
    pub(crate) text_bytes: usize,
    pub(crate) all_bytes: usize,
}

impl Bounds {
    /// What a server takes.
    pub(crate) const SERVER: Bounds =
        Bounds { entries: 1_000_000, text_bytes: 1 << 20, all_bytes: 256 << 20 };
}

/// The dictionary as the producer sees it.
#[derive(Debug)]
pub(crate) struct Interner {
    pub(crate) log: SymbolLog,
    by_text: Lookup,
    seed: u64,
    bytes: usize,
    bounds: Bounds,
}

impl Interner {
    pub(crate) fn new(log: SymbolLog, seed: u64, bounds: Bounds) -> Interner {
        Interner { log, by_text: Lookup::default(), seed, bytes: 0, bounds }
    }

    /// Goes on with the entries that the log has.
    pub(crate) fn resume(log: SymbolLog, seed: u64, bounds: Bounds) -> Interner {
        let mut interner = Interner::new(log, seed, bounds);
        let Interner { log, by_text, bytes, .. } = &mut interner;
        for id in 0..log.len() {
            let text = log.text(id).unwrap_or_default();
            by_text.push(lookup::hash(seed, text), |id| lookup::hash(seed, log.text(id).unwrap_or_default()));
            *bytes += text.len();
        }
        interner
    }

    /// Ids given so far, those of the unfinished row included.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.log.len()
    }

    /// The id of a text, a new one if it has none.
    #[inline]
    pub(crate) fn id(&mut self, text: &str) -> Result<u32> {
        let hash = lookup::hash(self.seed, text.as_bytes());
        if let Some(id) = self.by_text.find(hash, |id| self.log.text(id) == Some(text.as_bytes())) {
            return Ok(id);
        }
        self.add(text, hash)
    }

    fn add(&mut self, text: &str, hash: u64) -> Result<u32> {
        if text.len() > self.bounds.text_bytes {
            return Err(Error::new(ErrorKind::TooLarge, "symbol too long")
                .with("bytes", text.len())
                .because(format!(
                    "a symbol has at most {} bytes; use a text column",
                    self.bounds.text_bytes
                )));
        }
        if self.len() >= self.bounds.entries || self.bytes + text.len() > self.bounds.all_bytes {
            return Err(Error::new(ErrorKind::DictionaryFull, "symbol dictionary full")
                .with("entries", self.len())
                .with("bytes", self.bytes)
                .because(
                    "symbols that are known go on working; write values that hardly repeat to a text column",
                ));
        }
        let Some(id) = self.log.push(text) else {
            return Err(Error::new(ErrorKind::Store, "no memory for a symbol").with("bytes", text.len()));
        };
        let (log, seed) = (&self.log, self.seed);
        self.by_text.push(hash, |id| lookup::hash(seed, log.text(id).unwrap_or_default()));
        self.bytes += text.len();
        Ok(id)
    }

    /// Takes back every id from `len` on: no published frame carries them.
    pub(crate) fn truncate(&mut self, len: u32) {
        for id in (len..self.len()).rev() {
            let text = self.log.text(id).unwrap_or_default();
            self.bytes -= text.len();
            self.by_text.pop(lookup::hash(self.seed, text));
        }
        self.log.truncate(len);
    }
}
