//! A bit a row: the NULLs of a column, or the values of a BOOLEAN one.

/// Bits that grow at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bitmap {
    /// Bits at and beyond `len` are 0.
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    #[inline]
    pub(crate) fn push(&mut self, bit: bool) {
        let (word, shift) = (self.len / 64, self.len % 64);
        if shift == 0 {
            self.words.push(u64::from(bit));
        } else if let Some(word) = self.words.get_mut(word) {
            *word |= u64::from(bit) << shift;
        }
        self.len += 1;
    }

    /// Appends 0 bits up to `len`.
    pub(crate) fn extend_to(&mut self, len: usize) {
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
    }

    /// Appends 0 bits up to `from`, then 1 bits up to `len`.
    pub(crate) fn put_ones(&mut self, from: usize, len: usize) {
        if len > self.words.len() * 64 {
            self.words.resize(len.div_ceil(64), 0);
        }
        self.len = len;
        let mut at = from;
        while at < len {
            let count = (64 - at % 64).min(len - at);
            if let Some(word) = self.words.get_mut(at / 64) {
                *word |= (u64::MAX >> (64 - count)) << (at % 64);
            }
            at += count;
        }
    }

    /// Appends 1 bits up to `len`.
    pub(crate) fn extend_ones_to(&mut self, len: usize) {
        self.put_ones(self.len, len);
    }

    /// Cuts to `len` bits.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.words.truncate(len.div_ceil(64));
        if !len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (len % 64)) - 1;
        }
        self.len = len;
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }

    pub(crate) fn get(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// How many of the first `at` bits are 1.
    pub(crate) fn ones_before(&self, at: usize) -> usize {
        let whole: u32 = self.words.iter().take(at / 64).map(|word| word.count_ones()).sum();
        let part = self.words.get(at / 64).map_or(0, |word| (word & ((1 << (at % 64)) - 1)).count_ones());
        (whole + part) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// LIM-14: any mix of pushes, runs and cuts gives the bits of a plain list.
        #[test]
        fn lim_14_a_bitmap_is_a_list_of_bits(steps in proptest::collection::vec((0_u8..4, 0_usize..130), 0..40)) {
            let mut bitmap = Bitmap::default();
            let mut model: Vec<bool> = Vec::new();
            for (what, count) in steps {
                match what {
                    0 => { bitmap.push(count % 2 == 1); model.push(count % 2 == 1); }
                    1 => { bitmap.extend_to(model.len() + count); model.resize(model.len() + count, false); }
                    2 => { bitmap.extend_ones_to(model.len() + count); model.resize(model.len() + count, true); }
                    _ => { bitmap.truncate(model.len().saturating_sub(count)); model.truncate(model.len().saturating_sub(count)); }
                }
                prop_assert_eq!(bitmap.len(), model.len());
                prop_assert_eq!(bitmap.words().len(), model.len().div_ceil(64));
                for at in 0..model.len() + 70 {
                    prop_assert_eq!(bitmap.get(at), model.get(at).copied().unwrap_or(false));
                }
                for at in 0..=model.len() {
                    prop_assert_eq!(bitmap.ones_before(at), model.iter().take(at).filter(|b| **b).count());
                }
            }
        }
    }
}
