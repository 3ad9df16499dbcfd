//! The number of a frame in its store.

use std::fmt;

/// Frame sequence number: the n-th frame that was published, from 0. It survives reconnects.
///
/// `flush` returns the highest one published so far; everything up to it has left the caller's
/// hands, and is at the server once it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fsn(i64);

impl Fsn {
    /// The number of the first frame.
    pub(crate) const FIRST: Fsn = Fsn(0);

    /// The number, at least 0.
    pub fn as_i64(self) -> i64 {
        self.0
    }

    /// The frame of that number; none below 0, which elsewhere stands for "no frame yet".
    pub(crate) fn new(number: i64) -> Option<Fsn> {
        (number >= 0).then_some(Fsn(number))
    }

    /// The frame `frames` behind this one.
    #[inline]
    pub(crate) fn plus(self, frames: u64) -> Fsn {
        Fsn(self.0.saturating_add_unsigned(frames))
    }

    /// The next frame.
    #[inline]
    pub(crate) fn next(self) -> Fsn {
        self.plus(1)
    }

    /// The frame before this one; the first one is its own.
    #[inline]
    pub(crate) fn back(self) -> Fsn {
        Fsn((self.0 - 1).max(0))
    }

    /// How many frames lie between `base` and this one; 0 if it is not behind it.
    #[inline]
    pub(crate) fn since(self, base: Fsn) -> u64 {
        u64::try_from(self.0.saturating_sub(base.0)).unwrap_or(0)
    }
}

impl fmt::Display for Fsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_from_zero() {
        assert_eq!(Fsn::new(-1), None);
        assert_eq!(Fsn::new(0), Some(Fsn::FIRST));
        let seventh = Fsn::FIRST.plus(7);
        assert_eq!((seventh.as_i64(), seventh.to_string().as_str()), (7, "7"));
        assert!(seventh < seventh.next());
        assert_eq!(seventh.since(Fsn::FIRST.plus(5)), 2);
        assert_eq!(Fsn::FIRST.since(seventh), 0);
    }
}
