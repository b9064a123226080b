//! Texts end to end, with the offsets that part them: the layout of an Arrow string column without nulls.

use std::fmt;

use crate::ffi::RawOffset;
use crate::status::{Error, Result, Status};

/// Borrowed texts: bytes, and texts + 1 offsets into them. `Copy`; a call reads them where they lie.
///
/// The bytes are UTF-8; each maximal part that isn't counts as U+FFFD.
///
/// ```
/// use uform::TapeView;
/// let view = TapeView::of(b"abchello", &[0, 3, 3, 8])?;
/// assert_eq!(view.len(), 3);
/// assert!(view.iter().eq([b"abc" as &[u8], b"", b"hello"]));
/// # Ok::<(), uform::Error>(())
/// ```
///
/// It can't outlive its bytes:
///
/// ```compile_fail,E0505
/// # use uform::TapeView;
/// let text = String::from("abc");
/// let view = TapeView::from(text.as_str());
/// drop(text);
/// println!("{}", view.len());
/// ```
///
/// ```
/// # use uform::TapeView;
/// let text = String::from("abc");
/// let view = TapeView::from(text.as_str());
/// println!("{}", view.len());
/// drop(text);
/// ```
#[derive(Clone, Copy)]
#[doc(alias = "uform_tape_t")]
pub struct TapeView<'t> {
    bytes: &'t [u8],
    offsets: Offsets<'t>,
}

/// Where the texts of a [`TapeView`] begin and end. Rising, within the bytes, and never empty.
#[derive(Clone, Copy)]
pub(crate) enum Offsets<'t> {
    /// One text of all bytes.
    One,
    Narrow(&'t [u32]),
    Wide(&'t [u64]),
}

/// An integer that offsets may be of: `u32`, `u64`, or `i32`, `i64`, as Arrow has them. Sealed.
#[expect(private_bounds, reason = "sealed")]
pub trait Offset: RawOffset {}
impl<T: RawOffset> Offset for T {}

impl<'t> TapeView<'t> {
    /// Views the texts `bytes[offsets[i]..offsets[i + 1]]`, without a copy. The first offset need not be 0.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`] for no offsets, and for one that falls, is below 0 or passes the end, with its
    /// number.
    pub fn of<O: Offset>(bytes: &'t [u8], offsets: &'t [O]) -> Result<Self> {
        let offsets = O::unsigned(offsets);
        match offsets {
            Offsets::Narrow(list) => check(bytes.len(), list.iter().map(|&offset| u64::from(offset)))?,
            Offsets::Wide(list) => check(bytes.len(), list.iter().copied())?,
            Offsets::One => {}
        }
        Ok(Self { bytes, offsets })
    }

    /// How many texts.
    pub fn len(&self) -> usize {
        match self.offsets {
            Offsets::One => 1,
            Offsets::Narrow(list) => list.len() - 1,
            Offsets::Wide(list) => list.len() - 1,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a text; `None` past the end.
    pub fn get(&self, text: usize) -> Option<&'t [u8]> {
        if text >= self.len() {
            return None;
        }
        let (first, last) = match self.offsets {
            Offsets::One => (0, self.bytes.len()),
            Offsets::Narrow(list) => (list[text] as usize, list[text + 1] as usize),
            Offsets::Wide(list) => (list[text] as usize, list[text + 1] as usize),
        };
        Some(&self.bytes[first..last])
    }

    /// `count` texts from text `first` on; what passes the end is cut.
    pub fn subtape(&self, first: usize, count: usize) -> Self {
        let first = first.min(self.len());
        let last = first + count.min(self.len() - first);
        let offsets = match self.offsets {
            Offsets::One if first == last => Offsets::Wide(&[0]),
            Offsets::One => Offsets::One,
            Offsets::Narrow(list) => Offsets::Narrow(&list[first..=last]),
            Offsets::Wide(list) => Offsets::Wide(&list[first..=last]),
        };
        Self { bytes: self.bytes, offsets }
    }

    /// The bytes of each text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'t [u8]> + DoubleEndedIterator + Clone + use<'t> {
        let view = *self;
        (0..view.len()).map(move |text| view.get(text).unwrap_or_default())
    }

    pub(crate) fn parts(&self) -> (&'t [u8], Offsets<'t>) {
        (self.bytes, self.offsets)
    }
}

/// Whether offsets rise, and stay within so many bytes.
fn check(size: usize, offsets: impl Iterator<Item = u64>) -> Result<()> {
    let mut last = None;
    for (i, offset) in offsets.enumerate() {
        if last.is_some_and(|last| offset < last) {
            return Err(Error::bad(format!("offsets: number {i} is below the one before it")));
        }
        if offset > size as u64 {
            return Err(Error::bad(format!("offsets: number {i} passes the end of {size} bytes")));
        }
        last = Some(offset);
    }
    if last.is_none() {
        return Err(Error::bad("offsets: none, and a tape of no texts has one"));
    }
    Ok(())
}

/// No texts.
impl Default for TapeView<'_> {
    fn default() -> Self {
        Self { bytes: &[], offsets: Offsets::Wide(&[0]) }
    }
}

/// One text.
impl<'t> From<&'t str> for TapeView<'t> {
    fn from(text: &'t str) -> Self {
        Self { bytes: text.as_bytes(), offsets: Offsets::One }
    }
}

impl<'t> From<&'t Tape> for TapeView<'t> {
    fn from(tape: &'t Tape) -> Self {
        tape.view()
    }
}

impl fmt::Debug for TapeView<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter().map(String::from_utf8_lossy)).finish()
    }
}

/// Owned texts in one buffer. It keeps its capacity when it is cleared.
///
/// ```
/// use uform::Tape;
/// let tape: Tape = ["abc", "", "hello"].into_iter().collect();
/// assert_eq!((tape.len(), tape.view().get(2)), (3, Some(b"hello" as &[u8])));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape {
    bytes: Vec<u8>,
    offsets: Vec<u64>, // empty, or texts + 1
}

impl Tape {
    /// No texts, and no memory.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), offsets: Vec::new() }
    }

    /// Adds a text at the end.
    pub fn push(&mut self, text: impl AsRef<str>) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.bytes.extend_from_slice(text.as_ref().as_bytes());
        self.offsets.push(self.bytes.len() as u64);
    }

    /// Takes all texts out, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.offsets.clear();
    }

    /// How many texts.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The texts where they lie.
    pub fn view(&self) -> TapeView<'_> {
        if self.offsets.is_empty() {
            return TapeView::default();
        }
        TapeView { bytes: &self.bytes, offsets: Offsets::Wide(&self.offsets) }
    }

    /// Replaces the texts, in the memory that is there; what more is needed may be refused.
    fn assign<S: AsRef<str>>(&mut self, texts: &[S]) -> Result<()> {
        self.clear();
        reserve(&mut self.offsets, texts.len().saturating_add(1))?;
        self.offsets.push(0);
        for text in texts {
            let text = text.as_ref().as_bytes();
            reserve(&mut self.bytes, text.len())?;
            self.bytes.extend_from_slice(text);
            self.offsets.push(self.bytes.len() as u64);
        }
        Ok(())
    }
}

fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    list.try_reserve(more).map_err(|_| Error::new(Status::OutOfMemory, "no memory for the tape"))
}

impl<S: AsRef<str>> Extend<S> for Tape {
    fn extend<I: IntoIterator<Item = S>>(&mut self, texts: I) {
        let texts = texts.into_iter();
        self.offsets.reserve(texts.size_hint().0.saturating_add(1));
        texts.for_each(|text| self.push(text));
    }
}

impl<S: AsRef<str>> FromIterator<S> for Tape {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        let mut tape = Self::new();
        tape.extend(texts);
        tape
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What a verb takes: a [`TapeView`] or [`Tape`], read where it lies; one `str`; or a slice, array or vector of strings,
/// which is copied once, end to end, into memory that the call's [`Arena`](crate::Arena) keeps for it. Sealed.
pub trait Texts: sealed::Sealed {
    #[doc(hidden)]
    fn lay<'s>(&'s self, scratch: &'s mut Tape) -> Result<TapeView<'s>>;
}

impl sealed::Sealed for TapeView<'_> {}
impl Texts for TapeView<'_> {
    fn lay<'s>(&'s self, _: &'s mut Tape) -> Result<TapeView<'s>> {
        Ok(*self)
    }
}

impl sealed::Sealed for Tape {}
impl Texts for Tape {
    fn lay<'s>(&'s self, _: &'s mut Tape) -> Result<TapeView<'s>> {
        Ok(self.view())
    }
}

impl sealed::Sealed for str {}
impl Texts for str {
    fn lay<'s>(&'s self, _: &'s mut Tape) -> Result<TapeView<'s>> {
        Ok(TapeView::from(self))
    }
}

impl sealed::Sealed for String {}
impl Texts for String {
    fn lay<'s>(&'s self, _: &'s mut Tape) -> Result<TapeView<'s>> {
        Ok(TapeView::from(self.as_str()))
    }
}

impl<S: AsRef<str>> sealed::Sealed for [S] {}
impl<S: AsRef<str>> Texts for [S] {
    fn lay<'s>(&'s self, scratch: &'s mut Tape) -> Result<TapeView<'s>> {
        scratch.assign(self)?;
        Ok(scratch.view())
    }
}

impl<S: AsRef<str>> sealed::Sealed for Vec<S> {}
impl<S: AsRef<str>> Texts for Vec<S> {
    fn lay<'s>(&'s self, scratch: &'s mut Tape) -> Result<TapeView<'s>> {
        self.as_slice().lay(scratch)
    }
}

impl<S: AsRef<str>, const N: usize> sealed::Sealed for [S; N] {}
impl<S: AsRef<str>, const N: usize> Texts for [S; N] {
    fn lay<'s>(&'s self, scratch: &'s mut Tape) -> Result<TapeView<'s>> {
        self.as_slice().lay(scratch)
    }
}

impl<T: Texts + ?Sized> sealed::Sealed for &T {}
impl<T: Texts + ?Sized> Texts for &T {
    fn lay<'s>(&'s self, scratch: &'s mut Tape) -> Result<TapeView<'s>> {
        (**self).lay(scratch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_checked() {
        let bytes = b"abcdef";
        assert_eq!(TapeView::of(bytes, &[] as &[u32]).unwrap_err(), Status::InvalidArgument);
        assert!(TapeView::of(bytes, &[0, 4, 2]).unwrap_err().message().contains("number 2 is below"));
        assert!(TapeView::of(bytes, &[0, 4, 7]).unwrap_err().message().contains("number 2 passes the end of 6"));
        assert!(TapeView::of(bytes, &[-1, 4]).unwrap_err().message().contains("number 0 passes"));
        assert!(TapeView::of(bytes, &[0, u64::MAX]).unwrap_err().message().contains("number 1 passes"));
        assert_eq!(TapeView::of(bytes, &[6u32]).unwrap().len(), 0);
        for view in [
            TapeView::of(bytes, &[1i32, 3, 6]).unwrap(),
            TapeView::of(bytes, &[1u32, 3, 6]).unwrap(),
            TapeView::of(bytes, &[1i64, 3, 6]).unwrap(),
            TapeView::of(bytes, &[1u64, 3, 6]).unwrap(),
        ] {
            assert!(view.iter().eq([b"bc" as &[u8], b"def"]));
            assert!(view.iter().rev().eq([b"def" as &[u8], b"bc"]));
            assert_eq!(view.get(2), None);
            assert_eq!(view.get(usize::MAX), None);
            assert!(view.subtape(1, usize::MAX).iter().eq([b"def" as &[u8]]));
            assert!(view.subtape(9, 1).is_empty());
        }
        let one = TapeView::from("hello");
        assert!((one.len(), one.get(0)) == (1, Some(b"hello" as &[u8])) && one.subtape(1, 1).is_empty());
        assert_eq!(format!("{one:?}"), "[\"hello\"]");
    }

    #[test]
    fn tapes_keep_their_texts() {
        let mut tape = Tape::new();
        assert!(tape.is_empty() && tape.view().is_empty());
        tape.extend(["abc", ""]);
        tape.push(String::from("é"));
        assert!(tape.view().iter().eq(["abc".as_bytes(), b"", "é".as_bytes()]));
        assert_eq!(tape, ["abc", "", "é"].iter().collect());
        tape.clear();
        assert!(tape.is_empty() && tape.view().iter().next().is_none());
    }

    #[test]
    fn strings_are_copied_once_and_tapes_never() {
        let mut scratch = Tape::new();
        let tape: Tape = ["abc"].into_iter().collect();
        assert_eq!(tape.lay(&mut scratch).unwrap().parts().0.as_ptr(), tape.bytes.as_ptr());
        let view = tape.view();
        assert_eq!(view.lay(&mut scratch).unwrap().parts().0.as_ptr(), tape.bytes.as_ptr());
        assert_eq!("abc".lay(&mut scratch).unwrap().len(), 1);
        assert_eq!(scratch, Tape::new());
        let strings = vec![String::from("abc"), String::from("de")];
        assert!(strings.lay(&mut scratch).unwrap().iter().eq([b"abc" as &[u8], b"de"]));
        let first = scratch.bytes.as_ptr();
        assert!(["xyz", "u"].lay(&mut scratch).unwrap().iter().eq([b"xyz" as &[u8], b"u"]));
        assert_eq!(scratch.bytes.as_ptr(), first);
        let none: [&str; 0] = [];
        assert!(none.lay(&mut scratch).unwrap().is_empty());
    }
}
