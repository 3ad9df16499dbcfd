//! Finds texts that were numbered in the order of their arrival: columns of a table, symbols.
//!
//! Open addressing over 8-byte slots; the texts stay with their owner. What came last can be taken
//! back: with linear probing, emptying the newest slot breaks no other probe.

#![expect(
    clippy::cast_possible_truncation,
    reason = "hashes are cut to slots and words; numbers are dense and below 2^32"
)]

/// A slot: the upper half of the hash, and the number plus one. 0 is empty.
type Slot = u64;

/// Slots of the first table; a power of two.
const FIRST_SLOTS: usize = 16;

/// Numbers by text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lookup {
    /// A power of two of them, at most half in use; none before the first entry.
    slots: Vec<Slot>,
    count: u32,
}

impl Lookup {
    /// The number whose text has this hash and is `equal`.
    #[inline]
    pub(crate) fn find(&self, hash: u64, equal: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots.get(at).copied().unwrap_or(0);
            if slot == 0 {
                return None;
            }
            let number = (slot as u32) - 1;
            if slot >> 32 == hash >> 32 && equal(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds the next number: they are dense from 0.
    pub(crate) fn push(&mut self, hash: u64, hash_of: impl Fn(u32) -> u64) {
        if self.slots.len() < (self.count as usize + 1) * 2 {
            let slots = (self.slots.len() * 2).max(FIRST_SLOTS);
            self.slots.clear();
            self.slots.resize(slots, 0);
            for number in 0..self.count {
                self.place(hash_of(number), number);
            }
        }
        self.place(hash, self.count);
        self.count += 1;
    }

    /// Takes back the highest number.
    pub(crate) fn pop(&mut self, hash: u64) {
        let Some(number) = self.count.checked_sub(1) else { return };
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot as u32 == number + 1 {
                *slot = 0;
                self.count = number;
                return;
            }
            if *slot == 0 {
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn place(&mut self, hash: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots.get(at).is_some_and(|slot| *slot != 0) {
            at = (at + 1) & mask;
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = (hash >> 32 << 32) | u64::from(number + 1);
        }
    }
}

/// A hash of a text, by folded multiplication; the seed keeps chosen texts from colliding.
#[inline]
pub(crate) fn hash(seed: u64, text: &[u8]) -> u64 {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    const B: u64 = 0xd6e8_feb8_6659_fd93;
    if let Some((low, high)) = super::names::words(text) {
        return mix(low ^ seed, high ^ A ^ (text.len() as u64).wrapping_mul(B));
    }
    let mut state = seed ^ (text.len() as u64).wrapping_mul(B);
    let (chunks, _) = text.as_chunks::<16>();
    for chunk in chunks {
        let word = u128::from_le_bytes(*chunk);
        state = mix(word as u64 ^ state, (word >> 64) as u64 ^ A);
    }
    let last = text.last_chunk::<16>().map_or(0, |chunk| u128::from_le_bytes(*chunk));
    mix(last as u64 ^ state, (last >> 64) as u64 ^ B)
}

/// A hash of a name that is the same for names that are the same to the server.
#[inline]
pub(crate) fn hash_name(seed: u64, name: &str) -> u64 {
    name.chars().fold(seed, |state, c| mix(u64::from(super::names::fold(c)) ^ state, 0xd6e8_feb8_6659_fd93))
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list, with what came last taken back at times.
        #[test]
        fn a_lookup_is_a_list_of_texts(steps in proptest::collection::vec(("[a-d]{0,20}", 0_u8..4), 0..200), weak: bool) {
            let mut texts: Vec<String> = Vec::new();
            let mut lookup = Lookup::default();
            // A weak hash makes long probes.
            let hash_of = |text: &str| if weak { (text.len() as u64 % 3) << 60 } else { hash(7, text.as_bytes()) };
            for (text, take_back) in steps {
                let found = lookup.find(hash_of(&text), |n| texts[n as usize] == text);
                prop_assert_eq!(found, texts.iter().position(|t| *t == text).map(|n| n as u32));
                if found.is_none() {
                    let texts_now = &texts;
                    lookup.push(hash_of(&text), |n| hash_of(&texts_now[n as usize]));
                    texts.push(text);
                }
                for _ in 0..take_back.saturating_sub(1) {
                    if let Some(last) = texts.pop() {
                        lookup.pop(hash_of(&last));
                        prop_assert_eq!(lookup.find(hash_of(&last), |n| texts.get(n as usize) == Some(&last)), None);
                    }
                }
            }
        }

        #[test]
        fn a_hash_depends_on_every_byte(text in proptest::collection::vec(any::<u8>(), 1..70), at: prop::sample::Index, bit in 0_u32..8) {
            let mut other = text.clone();
            let at = at.index(other.len());
            other[at] ^= 1 << bit;
            prop_assert_ne!(hash(1, &text), hash(1, &other));
            prop_assert_ne!(hash(1, &text), hash(2, &text));
        }
    }
}
