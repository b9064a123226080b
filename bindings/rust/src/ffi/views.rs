//! Views over an arena, with its borrow.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{NonNull, null, null_mut};
use std::slice;

use super::{PinHandle, abi, check};
use crate::results::Encoded;
use crate::scalar::{B1x8, Bf16, F16};
use crate::status::{Error, Result};

/// A type that rows can be read as.
///
/// # Safety
/// `CODE` is the `uform_scalar_t` whose elements have this very layout, and any bits are a value.
#[diagnostic::on_unimplemented(
    message = "rows are read as `f32`, `F16`, `Bf16`, `i8`, `B1x8`, `u8`, `u32` or `u64`, not `{Self}`",
    label = "not a type that rows are read as"
)]
pub(crate) unsafe trait RawElement: Copy + Send + Sync + 'static {
    const CODE: i32;
}

// SAFETY: `uform_scalar_f32_k` is IEEE 754 binary32.
unsafe impl RawElement for f32 {
    const CODE: i32 = 0;
}
// SAFETY: `uform_scalar_f16_k` is 16 bits, and so is this.
unsafe impl RawElement for F16 {
    const CODE: i32 = 1;
}
// SAFETY: `uform_scalar_bf16_k` is 16 bits, and so is this.
unsafe impl RawElement for Bf16 {
    const CODE: i32 = 2;
}
// SAFETY: `uform_scalar_i8_k` is the same integer.
unsafe impl RawElement for i8 {
    const CODE: i32 = 3;
}
// SAFETY: `uform_scalar_b1_k` is bytes of eight columns, rows begin with a byte of their own, and so is this.
unsafe impl RawElement for B1x8 {
    const CODE: i32 = 4;
}
// SAFETY: `uform_scalar_u8_k` is the same integer.
unsafe impl RawElement for u8 {
    const CODE: i32 = 5;
}
// SAFETY: `uform_scalar_u32_k` is the same integer.
unsafe impl RawElement for u32 {
    const CODE: i32 = 6;
}
// SAFETY: `uform_scalar_u64_k` is the same integer.
unsafe impl RawElement for u64 {
    const CODE: i32 = 7;
}

/// Rows in an arena that is borrowed for 'a. The phantom is shared, so that views are `Copy`: it is the `&'a mut` they
/// were made from that locks the arena.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    raw: abi::Rows,
    arena: PhantomData<&'a [u8]>,
}

// SAFETY: a view only reads bytes that nobody writes while the arena is borrowed, and a state word that is atomic.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

impl<'a> View<'a> {
    /// `None` for an output that wasn't asked for.
    ///
    /// # Safety
    /// `raw` is the library's, and its bytes stay as they are for 'a.
    unsafe fn new(raw: abi::Rows) -> Option<Self> {
        (raw.columns != 0).then_some(Self { raw, arena: PhantomData })
    }

    pub(crate) fn rows(&self) -> usize {
        self.raw.rows as usize
    }

    pub(crate) fn columns(&self) -> usize {
        self.raw.columns as usize
    }

    pub(crate) fn row_stride_bytes(&self) -> usize {
        self.raw.row_stride_bytes as usize
    }

    pub(crate) fn scalar(&self) -> i32 {
        self.raw.scalar
    }

    pub(crate) fn is_host(&self) -> bool {
        self.raw.residency == 0
    }

    pub(crate) fn device(&self) -> i32 {
        self.raw.device
    }

    pub(crate) fn as_ptr(&self) -> *const c_void {
        self.raw.data
    }

    /// All elements; the library checks residency, epoch and scalar.
    #[inline]
    pub(crate) fn values<T: RawElement>(&self) -> Result<&'a [T]> {
        let mut first = null();
        // SAFETY: the view is the library's own; the out-parameters are ours.
        check(|message| unsafe { abi::uform_rows_values(&self.raw, T::CODE, &mut first, message) })?;
        // SAFETY: rows × stride bytes of that scalar lie there, and stay as they are for 'a.
        Ok(unsafe { elements(first, self.rows() * self.row_stride_bytes() / size_of::<T>()) })
    }

    pub(crate) fn row<T: RawElement>(&self, index: usize) -> Result<&'a [T]> {
        let mut first = null();
        // SAFETY: the view is the library's own; the out-parameters are ours.
        check(|message| unsafe { abi::uform_rows_row(&self.raw, T::CODE, index as u64, &mut first, message) })?;
        // SAFETY: a row's bytes of that scalar lie there, and stay as they are for 'a.
        Ok(unsafe { elements(first, self.row_stride_bytes() / size_of::<T>()) })
    }

    pub(crate) fn copy_to<T: RawElement>(&self, to: &mut [T]) -> Result<()> {
        let (first, bytes) = (to.as_mut_ptr().cast(), size_of_val(to) as u64);
        // SAFETY: the library writes exactly that many bytes, or none; any bits are a value of `T`.
        check(|message| unsafe { abi::uform_rows_copy_to(&self.raw, T::CODE, first, bytes, message) })
    }

    pub(crate) fn to_dlpack(self) -> Result<NonNull<c_void>> {
        let mut tensor = null_mut();
        // SAFETY: the view is the library's own; the out-parameters are ours. The tensor holds a pin of its own.
        check(|message| unsafe { abi::uform_rows_to_dlpack(&self.raw, &mut tensor, message) })?;
        NonNull::new(tensor).ok_or_else(|| Error::bad("rows: no tensor"))
    }

    /// The rows of `first..last`, which are within it.
    fn part(&self, first: u32, last: u32) -> Self {
        let mut raw = self.raw;
        raw.data = raw.data.wrapping_byte_add(first as usize * self.row_stride_bytes());
        raw.rows = u64::from(last.saturating_sub(first));
        Self { raw, arena: PhantomData }
    }

    /// Whether the same call wrote both.
    fn is_beside(&self, other: &View<'_>) -> bool {
        self.raw.lease == other.raw.lease && self.raw.epoch == other.raw.epoch
    }
}

/// A slice of what C hands out, where a null pointer isn't one, even of nothing.
///
/// # Safety
/// `first` is null, or of `count` elements that are aligned and stay as they are for 'a.
unsafe fn elements<'a, T>(first: *const c_void, count: usize) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    debug_assert!(first.cast::<T>().is_aligned());
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(first.cast(), count) }
}

/// The rows of all texts end to end.
#[derive(Clone, Copy)]
pub(crate) struct RaggedView<'a> {
    flat: View<'a>,
    offsets: &'a [u32],
}

impl<'a> RaggedView<'a> {
    /// # Safety
    /// As for [`View::new`], and for its `texts + 1` offsets on the host.
    unsafe fn new(raw: abi::RaggedRows) -> Option<Self> {
        // SAFETY: the caller's promise.
        let flat = unsafe { View::new(raw.rows) }?;
        // SAFETY: as above.
        let offsets = unsafe { elements(raw.offsets.cast(), raw.texts as usize + 1) };
        Some(Self { flat, offsets: if offsets.is_empty() { &[0] } else { offsets } })
    }

    pub(crate) fn flat(&self) -> View<'a> {
        self.flat
    }

    pub(crate) fn offsets(&self) -> &'a [u32] {
        self.offsets
    }

    pub(crate) fn at(&self, text: usize) -> Option<View<'a>> {
        let (first, last) = (*self.offsets.get(text)?, *self.offsets.get(text.checked_add(1)?)?);
        Some(self.flat.part(first, last))
    }
}

/// All that a call answers, with the borrow of its arena.
#[derive(Clone, Copy)]
pub(crate) struct Views<'a> {
    raw: abi::Encoded,
    arena: PhantomData<&'a [u8]>,
}

impl<'a> Views<'a> {
    /// # Safety
    /// `raw` is what a call answered, and the arena is borrowed for 'a.
    pub(super) unsafe fn new(raw: abi::Encoded) -> Self {
        Self { raw, arena: PhantomData }
    }

    /// In the order of the fields of [`Encoded`].
    pub(crate) fn into_encoded(self) -> Encoded<'a> {
        let raw = &self.raw;
        // SAFETY: `new` was promised that the library wrote them, and that the arena is borrowed for 'a.
        unsafe {
            let anchor = View { raw: raw.truncated_tokens, arena: PhantomData };
            Encoded {
                embeddings: View::new(raw.embeddings).map(Into::into),
                probabilities: View::new(raw.probabilities).map(Into::into),
                states: RaggedView::new(raw.states).map(Into::into),
                token_vectors: RaggedView::new(raw.token_vectors).map(Into::into),
                token_probabilities: RaggedView::new(raw.token_probabilities).map(Into::into),
                sparse_ids: RaggedView::new(raw.sparse_ids).map(Into::into),
                sparse_weights: RaggedView::new(raw.sparse_weights).map(Into::into),
                truncated_tokens: elements(anchor.raw.data, anchor.rows()),
                token_ids: View::new(raw.token_ids).map(|ids| elements(ids.raw.data, ids.rows())),
                anchor,
                ids: View::new(raw.token_ids),
                texts: raw.texts as usize,
                outputs: raw.outputs,
            }
        }
    }
}

/// Pins a result: the bytes stay as they are as long as the pin lives, whatever becomes of the arena.
///
/// The fields of `Encoded` are public, so each is compared with the one that isn't: a view of another call, put there by
/// safe code, is refused.
pub(crate) fn pin(encoded: &Encoded<'_>) -> Result<(Encoded<'static>, PinHandle)> {
    let rows = [encoded.embeddings, encoded.probabilities];
    let ragged = [
        encoded.states,
        encoded.token_vectors,
        encoded.token_probabilities,
        encoded.sparse_ids,
        encoded.sparse_weights,
    ];
    let of_one_call = rows.iter().flatten().all(|rows| rows.view().is_beside(&encoded.anchor))
        && ragged.iter().flatten().all(|rows| rows.view().flat().is_beside(&encoded.anchor));
    if !of_one_call {
        return Err(Error::bad("encoded: a field is of another call"));
    }
    // SAFETY: the view is the library's own; the out-parameters are ours.
    let pin = PinHandle::init(|out, message| unsafe { abi::uform_rows_pin(&encoded.anchor.raw, out, message) })?;
    let mut held = *encoded;
    // SAFETY: these two are made again from the private views, whatever was assigned to the public fields.
    unsafe {
        held.truncated_tokens = elements(encoded.anchor.raw.data, encoded.anchor.rows());
        held.token_ids = encoded.ids.map(|ids| elements(ids.raw.data, ids.rows()));
    }
    // SAFETY: only the lifetime changes. All views are of the call that is pinned, so their bytes stay while the pin
    // lives; `Pinned` owns both, and lends the views for its own borrow only.
    let held = unsafe { std::mem::transmute::<Encoded<'_>, Encoded<'static>>(held) };
    Ok((held, pin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, Model, Outputs, Rows, Scalar, Status};

    /// The same view without the borrow, as a program that isn't checked would have it.
    fn unbound(rows: Rows<'_>) -> View<'static> {
        View { raw: rows.view().raw, arena: PhantomData }
    }

    #[test]
    fn under_the_borrow_checker_stale_views_are_refused() -> Result<()> {
        let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
        let encode = |arena: &mut Arena| -> Result<View<'static>> {
            let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, arena)?;
            Ok(unbound(encoded.embeddings.unwrap()))
        };
        let first = encode(&mut arena)?;
        assert_eq!(first.values::<f32>()?.len(), 48);
        let second = encode(&mut arena)?;
        assert_eq!(first.values::<f32>().unwrap_err(), Status::InvalidArgument);
        assert_eq!(first.row::<f32>(0).unwrap_err(), Status::InvalidArgument);
        assert_eq!(first.copy_to(&mut [0f32; 48]).unwrap_err(), Status::InvalidArgument);
        assert_eq!(first.to_dlpack().unwrap_err(), Status::InvalidArgument);
        assert_eq!(second.values::<f32>()?.len(), 48);
        drop(arena);
        assert_eq!(second.values::<f32>().unwrap_err(), Status::InvalidArgument);
        let mut another = Arena::new()?; // perhaps at the same address
        let third = encode(&mut another)?;
        assert_eq!(second.values::<f32>().unwrap_err(), Status::InvalidArgument);
        assert_eq!(third.values::<f32>()?.len(), 48);
        Ok(())
    }

    #[test]
    fn a_host_read_of_device_rows_is_refused() -> Result<()> {
        let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
        let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
        let mut rows = unbound(encoded.embeddings.unwrap());
        (rows.raw.residency, rows.raw.device) = (1, 3);
        let rows = Rows::from(rows);
        assert_eq!(rows.values::<f32>().unwrap_err(), Status::Device);
        assert_eq!(rows.row::<f32>(0).unwrap_err(), Status::Device);
        assert_eq!(rows.iter::<f32>().unwrap_err(), Status::Device);
        assert_eq!((rows.residency(), rows.device()), (crate::Residency::Vram, Some(3)));
        assert!(!rows.as_ptr().is_null());
        Ok(())
    }

    #[test]
    fn a_null_pointer_is_no_slice() {
        // SAFETY: null is allowed.
        assert_eq!(unsafe { elements::<f32>(null(), 7) }, &[] as &[f32]);
    }
}
