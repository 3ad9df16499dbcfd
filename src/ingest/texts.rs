//! Columns of texts as callers have them: slices of strings, or offsets into bytes.

use super::columns::at_row;
use crate::error::Result;

/// Texts one behind the other: text `i` is `bytes[offsets[i]..offsets[i + 1]]`, as Arrow has it.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a, O = i32> {
    offsets: &'a [O],
    bytes: &'a [u8],
    validity: Option<&'a [u8]>,
}

impl<'a, O> Texts<'a, O> {
    /// Texts by their offsets, of which there is one more than there are texts.
    pub fn new(offsets: &'a [O], bytes: &'a [u8]) -> Texts<'a, O> {
        Texts { offsets, bytes, validity: None }
    }

    /// The same texts, NULL where a bit is 0, the first in the lowest bit of the first byte.
    pub fn with_validity(self, validity: &'a [u8]) -> Texts<'a, O> {
        Texts { validity: Some(validity), ..self }
    }
}

/// What texts can be made from: slices, arrays and vectors of `&str` or `String`, by reference, and
/// [`Texts`] with offsets of `i32`, `i64` or `u32`.
pub trait Dictionary<'a>: sealed::Dictionary<'a> {}

impl<'a, T: sealed::Dictionary<'a>> Dictionary<'a> for T {}

/// A number into a dictionary: an integer of up to 32 bits, signed or not.
pub trait Code: sealed::Code {}

impl<T: sealed::Code> Code for T {}

/// Texts that can be read by number.
pub(crate) trait Read {
    fn len(&self) -> usize;
    /// Bytes of all texts together, about.
    fn bytes(&self) -> usize;
    fn text(&self, number: usize) -> Result<&str>;
}

pub(crate) mod sealed {
    use super::{Read, Result, Texts};

    pub trait Dictionary<'a>: Copy {
        /// The texts, or why the offsets are wrong.
        #[expect(private_interfaces, reason = "sealed")]
        fn texts(self) -> Result<Box<dyn Read + 'a>>;

        fn validity(self) -> Option<&'a [u8]> {
            None
        }
    }

    macro_rules! slices {
        ($([$($p:tt)*] $type:ty;)*) => {$(
            impl<'a, S: AsRef<str> $($p)*> Dictionary<'a> for &'a $type {
                #[expect(private_interfaces, reason = "sealed")]
                fn texts(self) -> Result<Box<dyn Read + 'a>> {
                    Ok(Box::new(&self[..]))
                }
            }
        )*};
    }

    slices! {
        [] [S];
        [] Vec<S>;
        [, const N: usize] [S; N];
    }

    impl<'a, O: Offset> Dictionary<'a> for Texts<'a, O> {
        #[expect(private_interfaces, reason = "sealed")]
        fn texts(self) -> Result<Box<dyn Read + 'a>> {
            super::check(&self)?;
            Ok(Box::new(self))
        }

        fn validity(self) -> Option<&'a [u8]> {
            self.validity
        }
    }

    pub trait Offset: Copy {
        fn position(self) -> Option<usize>;
    }

    pub trait Code: Copy {
        fn index(self) -> Option<usize>;
    }

    macro_rules! integers {
        ($trait:ident, $method:ident: $($type:ty)*) => {$(
            impl $trait for $type {
                #[inline]
                fn $method(self) -> Option<usize> {
                    usize::try_from(self).ok()
                }
            }
        )*};
    }

    integers!(Offset, position: i32 i64 u32);
    integers!(Code, index: i8 i16 i32 u8 u16 u32);
}

impl<S: AsRef<str>> Read for &[S] {
    fn len(&self) -> usize {
        <[S]>::len(self)
    }

    fn bytes(&self) -> usize {
        self.iter().map(|text| text.as_ref().len()).sum()
    }

    fn text(&self, number: usize) -> Result<&str> {
        Ok(self.get(number).map_or("", AsRef::as_ref))
    }
}

impl<O: sealed::Offset> Read for Texts<'_, O> {
    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn text(&self, number: usize) -> Result<&str> {
        let position = |at: usize| self.offsets.get(at).and_then(|offset| offset.position());
        let bytes = match (position(number), position(number + 1)) {
            (Some(from), Some(to)) => self.bytes.get(from..to),
            _ => None,
        };
        bytes
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .ok_or_else(|| at_row(number, "text is not UTF-8", "or its offsets split a character"))
    }
}

/// Offsets are there, not negative, do not decrease and stay within the bytes.
fn check<O: sealed::Offset>(texts: &Texts<'_, O>) -> Result<()> {
    if texts.offsets.is_empty() {
        return Err(at_row(0, "no offsets", "there is one more than there are texts"));
    }
    let mut last = 0;
    for (row, offset) in texts.offsets.iter().enumerate() {
        match offset.position() {
            Some(position) if position >= last && position <= texts.bytes.len() => last = position,
            Some(_) => return Err(at_row(row, "wrong offset", "it decreases or leaves the bytes")),
            None => return Err(at_row(row, "wrong offset", "it is negative")),
        }
    }
    Ok(())
}
