//! The values of a SYMBOL column, and the ids of the texts that it saw lately.

use super::interner::Interner;
use super::names;
use crate::error::Result;

/// Places of the first memory of texts, and of the largest; powers of two.
const FIRST_PLACES: usize = 64;
const MAX_PLACES: usize = 4096;

/// A memory that forgot this many times as many texts as it has places is too small.
const MISSES_PER_PLACE: usize = 4;

/// What a symbol weighs whose text the dictionary has: an id.
const ID_BYTES: usize = 3;

/// Ids of symbols.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    pub(crate) ids: Vec<u32>,
    /// Texts of up to 16 bytes by a hash, one a place. It grows while the column has more of them.
    seen: Box<[Seen]>,
    misses: usize,
}

/// A text and its id; the words and the length are the whole text.
#[derive(Debug, Clone, Copy)]
struct Seen {
    words: (u64, u64),
    len: usize,
    id: u32,
}

const NOTHING: Seen = Seen { words: (0, 0), len: usize::MAX, id: 0 };

impl Symbols {
    /// Appends a symbol and returns what it weighs.
    #[inline]
    pub(crate) fn push(&mut self, text: &str, dictionary: &mut Interner) -> Result<usize> {
        let Some(words) = names::words(text.as_bytes()) else {
            return self.push_looked_up(text, dictionary);
        };
        let place = self.place(words);
        match self.seen.get(place) {
            Some(seen) if seen.words == words && seen.len == text.len() => {
                self.ids.push(seen.id);
                Ok(ID_BYTES)
            }
            _ => self.push_unseen(text, words, dictionary),
        }
    }

    #[inline]
    fn place(&self, words: (u64, u64)) -> usize {
        let hash = (words.0 ^ words.1.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The upper bits are the good ones; there are never more places than 20 of them count.
        (hash >> 44) as usize & self.seen.len().wrapping_sub(1)
    }

    #[inline(never)]
    fn push_unseen(&mut self, text: &str, words: (u64, u64), dictionary: &mut Interner) -> Result<usize> {
        let weight = self.push_looked_up(text, dictionary)?;
        self.misses += 1;
        if self.misses > self.seen.len() * MISSES_PER_PLACE && self.seen.len() < MAX_PLACES {
            let places = (self.seen.len() * 8).clamp(FIRST_PLACES, MAX_PLACES);
            self.seen = vec![NOTHING; places].into_boxed_slice();
            self.misses = 0;
        }
        let place = self.place(words);
        if let (Some(seen), Some(id)) = (self.seen.get_mut(place), self.ids.last()) {
            *seen = Seen { words, len: text.len(), id: *id };
        }
        Ok(weight)
    }

    fn push_looked_up(&mut self, text: &str, dictionary: &mut Interner) -> Result<usize> {
        let known = dictionary.len();
        let id = dictionary.id(text)?;
        self.ids.push(id);
        Ok(if id < known { ID_BYTES } else { ID_BYTES + text.len() + 1 })
    }

    /// Forgets all texts: ids were taken back.
    pub(crate) fn forget(&mut self) {
        self.seen.fill(NOTHING);
    }
}
