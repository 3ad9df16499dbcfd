//! The values of a SYMBOL column, and the ids of the texts that it saw lately.

use super::interner::Interner;
use super::names;
use crate::error::Result;

/// Pairs of places of the first memory of texts, and of the largest; powers of two.
const FIRST_PAIRS: usize = 32;
const MAX_PAIRS: usize = 4096;

/// A memory that forgot this many times as many texts as it has pairs is too small.
const MISSES_PER_PAIR: usize = 8;

/// What a symbol weighs whose text the dictionary has: an id.
pub(crate) const ID_BYTES: usize = 3;

/// Ids of symbols.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    pub(crate) ids: Vec<u32>,
    /// Texts of up to 16 bytes by a hash, two a pair, the later one first. It grows while the column
    /// has more of them.
    seen: Box<[[Seen; 2]]>,
    misses: usize,
}

/// A text and its id; the words and the length are the whole text.
#[derive(Debug, Clone, Copy)]
struct Seen {
    words: (u64, u64),
    len: u32,
    id: u32,
}

const NOTHING: Seen = Seen { words: (0, 0), len: u32::MAX, id: 0 };

impl Seen {
    #[inline(always)]
    fn is(&self, words: (u64, u64), len: usize) -> bool {
        self.words == words && self.len as usize == len
    }
}

impl Symbols {
    /// Appends a symbol that it saw lately, and returns whether it did.
    #[inline(always)]
    pub(crate) fn push_seen(&mut self, text: &str) -> bool {
        let Some(words) = names::words(text.as_bytes()) else { return false };
        let Some([late, early]) = self.seen.get(self.pair(words)) else { return false };
        let id = if late.is(words, text.len()) {
            late.id
        } else if early.is(words, text.len()) {
            early.id
        } else {
            return false;
        };
        self.ids.push(id);
        true
    }

    #[inline(always)]
    fn pair(&self, words: (u64, u64)) -> usize {
        let hash = (words.0 ^ words.1.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The upper bits are the good ones; there are never more pairs than 20 of them count.
        (hash >> 44) as usize & self.seen.len().wrapping_sub(1)
    }

    /// Appends any other symbol and returns what it weighs.
    #[expect(clippy::cast_possible_truncation, reason = "a text of two words has 16 bytes at most")]
    pub(crate) fn push(&mut self, text: &str, dictionary: &mut Interner) -> Result<usize> {
        let weight = self.push_looked_up(text, dictionary)?;
        if let (Some(words), Some(id)) = (names::words(text.as_bytes()), self.ids.last().copied()) {
            self.remember(Seen { words, len: text.len() as u32, id });
        }
        Ok(weight)
    }

    fn remember(&mut self, text: Seen) {
        self.misses += 1;
        if self.misses > self.seen.len() * MISSES_PER_PAIR && self.seen.len() < MAX_PAIRS {
            let pairs = (self.seen.len() * 8).clamp(FIRST_PAIRS, MAX_PAIRS);
            self.seen = vec![[NOTHING; 2]; pairs].into_boxed_slice();
            self.misses = 0;
        }
        if let Some(pair) = self.seen.get_mut(self.pair(text.words)) {
            *pair = [text, pair[0]];
        }
    }

    fn push_looked_up(&mut self, text: &str, dictionary: &mut Interner) -> Result<usize> {
        let known = dictionary.len();
        let id = dictionary.id(text)?;
        self.ids.push(id);
        Ok(if id < known { ID_BYTES } else { ID_BYTES + text.len() + 1 })
    }

    /// Forgets all texts: ids were taken back.
    pub(crate) fn forget(&mut self) {
        self.seen.fill([NOTHING; 2]);
    }
}
