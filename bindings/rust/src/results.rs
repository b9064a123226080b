//! What a call answers: views over its arena.

use std::ffi::c_void;
use std::fmt;
use std::iter::FusedIterator;
use std::ptr::NonNull;
use std::slice::ChunksExact;

use crate::arena::Residency;
use crate::ffi::{self, PinHandle, RaggedView, View};
use crate::outputs::Outputs;
use crate::scalar::{Element, Scalar};
use crate::status::{Error, Result};

/// The outputs of one call. Nothing was copied: the arena stays borrowed while any view of it is used.
///
/// What wasn't asked for is `None`. A call now and a deferred one answer the same.
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let both = Outputs::EMBEDDINGS | Outputs::STATES;
/// let encoded = model.text_encode(&["a text", "another one"], both, Scalar::F32, &mut arena)?;
/// if let Some(embeddings) = encoded.embeddings {
///     for (vector, cut) in embeddings.iter::<f32>()?.zip(encoded.truncated_tokens) {
///         println!("{} numbers, {cut} tokens were cut", vector.len());
///     }
/// }
/// for states in encoded.states.iter().flatten() {
///     let [tokens, hidden] = states.shape(); // of one text
///     assert_eq!(states.values::<f32>()?.len(), tokens * hidden);
/// }
/// assert!(encoded.sparse_ids.is_none());
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
#[doc(alias = "uform_encoded_t")]
pub struct Encoded<'a> {
    /// One vector a text, `[texts, dimensions]`.
    pub embeddings: Option<Rows<'a>>,
    /// `[texts, labels]` of a classifier, `[pairs, 1]` of a reranker.
    pub probabilities: Option<Rows<'a>>,
    /// The last layer's state of every token, special ones included, `[tokens, hidden]`.
    pub states: Option<RaggedRows<'a>>,
    /// What late interaction compares, `[tokens that count, dimensions]`.
    pub token_vectors: Option<RaggedRows<'a>>,
    /// `[tokens, labels]` of a token classifier, special tokens included.
    pub token_probabilities: Option<RaggedRows<'a>>,
    /// The ids whose weight isn't 0, rising within a text, `[entries, 1]` of `u32`.
    pub sparse_ids: Option<RaggedRows<'a>>,
    /// The weight of each of these ids, above 0, `[entries, 1]`.
    pub sparse_weights: Option<RaggedRows<'a>>,
    /// How many tokens were cut from each text, `[texts]`, in host memory.
    pub truncated_tokens: &'a [u32],
    /// The id of each row of states, or of token probabilities, `[tokens]`, in host memory.
    pub token_ids: Option<&'a [u32]>,
    pub(crate) anchor: View<'a>, // of `truncated_tokens`: what pins look at
    pub(crate) ids: Option<View<'a>>,
    pub(crate) texts: usize,
    pub(crate) outputs: u32,
}

impl Encoded<'_> {
    /// Texts of the call's tape, or pairs of its two.
    pub fn texts(&self) -> usize {
        self.texts
    }

    /// What was asked for.
    pub fn outputs(&self) -> Outputs {
        Outputs::from_bits(self.outputs)
    }

    /// Holds the result without the borrow of its arena: see [`Pinned`]. Allocates nothing.
    ///
    /// # Errors
    /// [`Status::Contended`](crate::Status::Contended) at 4,094 pins;
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) if a field was assigned from another call's result.
    #[doc(alias = "uform_encoded_pin")]
    pub fn pin(&self) -> Result<Pinned> {
        let (encoded, pin) = ffi::pin(self)?;
        Ok(Pinned { encoded, _pin: pin })
    }
}

impl fmt::Debug for Encoded<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = out.debug_struct("Encoded");
        fields.field("texts", &self.texts).field("outputs", &self.outputs());
        for (name, rows) in [("embeddings", self.embeddings), ("probabilities", self.probabilities)] {
            if let Some(rows) = rows {
                fields.field(name, &rows);
            }
        }
        for (name, rows) in [
            ("states", self.states),
            ("token_vectors", self.token_vectors),
            ("token_probabilities", self.token_probabilities),
            ("sparse_ids", self.sparse_ids),
            ("sparse_weights", self.sparse_weights),
        ] {
            if let Some(rows) = rows {
                fields.field(name, &rows);
            }
        }
        fields.finish_non_exhaustive()
    }
}

/// A view of rows in an arena, `[rows, columns]`, row-major and tight. `Copy`, and usable from many threads.
///
/// It makes no copy, and makes an array of any crate from a slice: with `ndarray`, for one,
/// `ArrayView2::from_shape(rows.shape(), rows.values::<f32>()?)`.
#[derive(Clone, Copy)]
#[doc(alias = "uform_rows_t")]
pub struct Rows<'a>(View<'a>);

impl<'a> From<View<'a>> for Rows<'a> {
    fn from(view: View<'a>) -> Self {
        Self(view)
    }
}

impl<'a> Rows<'a> {
    pub(crate) fn view(&self) -> &View<'a> {
        &self.0
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// How many items [`Rows::iter`] has: the rows, as [`RaggedRows::len`] counts its texts.
    pub fn len(&self) -> usize {
        self.rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Scalars in a row; of [`Scalar::B1`], bits.
    pub fn columns(&self) -> usize {
        self.0.columns()
    }

    /// `[rows, columns]`.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows(), self.columns()]
    }

    /// Bytes from one row to the next.
    pub fn row_stride_bytes(&self) -> usize {
        self.0.row_stride_bytes()
    }

    /// What one element is.
    pub fn scalar(&self) -> Scalar {
        Scalar::from_code(self.0.scalar())
    }

    /// The memory that they lie in.
    pub fn residency(&self) -> Residency {
        if self.0.is_host() { Residency::Ram } else { Residency::Vram }
    }

    /// The device's ordinal; `None` for host memory.
    pub fn device(&self) -> Option<u32> {
        u32::try_from(self.0.device()).ok()
    }

    /// The address of the first row, host or device, for another library. It may be null where there are no rows.
    pub fn as_ptr(&self) -> *const c_void {
        self.0.as_ptr()
    }

    /// All elements, row after row: `rows() * columns()` of them, or of [`Scalar::B1`] `row_stride_bytes()` bytes a
    /// row. It costs one atomic load.
    ///
    /// # Errors
    /// [`Status::Device`](crate::Status::Device) for rows in a device's memory.
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) for another scalar, with both names.
    #[inline]
    #[doc(alias = "uform_rows_values")]
    pub fn values<T: Element>(&self) -> Result<&'a [T]> {
        self.0.values()
    }

    /// The elements of one row.
    ///
    /// # Errors
    /// As of [`Rows::values`], and [`Status::InvalidArgument`](crate::Status::InvalidArgument) for a row past the end.
    #[doc(alias = "uform_rows_row")]
    pub fn row<T: Element>(&self, index: usize) -> Result<&'a [T]> {
        self.0.row(index)
    }

    /// The rows one by one: checked once, then free.
    ///
    /// # Errors
    /// As of [`Rows::values`].
    pub fn iter<T: Element>(&self) -> Result<ChunksExact<'a, T>> {
        Ok(self.values()?.chunks_exact(self.row_stride_bytes() / size_of::<T>()))
    }

    /// Copies all elements, from host or device memory: `to` has exactly as many as there are.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) for another scalar, or another count, with both.
    /// Of device memory also [`Status::Device`](crate::Status::Device),
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory), and [`Status::Contended`](crate::Status::Contended) at
    /// 4,094 pins.
    #[doc(alias = "uform_rows_copy_to")]
    pub fn copy_to<T: Element>(&self, to: &mut [T]) -> Result<()> {
        self.0.copy_to(to)
    }

    /// Hands the rows to another library as a `DLManagedTensorVersioned` of DLPack 1.0: the same bytes, read-only.
    /// It holds a pin until its consumer calls the tensor's deleter once, also after the arena was dropped.
    ///
    /// # Errors
    /// [`Status::Unsupported`](crate::Status::Unsupported) for [`Scalar::B1`], whose bits DLPack packs the other way;
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory); [`Status::Contended`](crate::Status::Contended) at 4,094
    /// pins.
    #[doc(alias = "uform_rows_to_dlpack")]
    pub fn to_dlpack(&self) -> Result<NonNull<c_void>> {
        self.0.to_dlpack()
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "[{}, {}] of {:?} in {:?}", self.rows(), self.columns(), self.scalar(), self.residency())
    }
}

/// The rows of all texts end to end, with the offsets that part them. `Copy`; an iterator over texts.
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let encoded = model.text_encode(&["a", "the model"], Outputs::STATES, Scalar::F32, &mut arena)?;
/// let states = encoded.states.unwrap();
/// let tokens: Vec<usize> = states.iter().map(|of_a_text| of_a_text.rows()).collect();
/// assert_eq!(states.offsets(), [0, tokens[0] as u32, (tokens[0] + tokens[1]) as u32]);
/// assert_eq!((states.texts(), states.rows(), states.columns()), (2, tokens[0] + tokens[1], 48));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
#[doc(alias = "uform_ragged_rows_t")]
pub struct RaggedRows<'a>(RaggedView<'a>);

impl<'a> From<RaggedView<'a>> for RaggedRows<'a> {
    fn from(view: RaggedView<'a>) -> Self {
        Self(view)
    }
}

impl<'a> RaggedRows<'a> {
    pub(crate) fn view(&self) -> &RaggedView<'a> {
        &self.0
    }

    /// How many texts.
    pub fn texts(&self) -> usize {
        self.offsets().len() - 1
    }

    /// Rows of all texts together, as of [`RaggedRows::flat`].
    pub fn rows(&self) -> usize {
        self.flat().rows()
    }

    /// Scalars in a row; of [`Scalar::B1`], bits.
    pub fn columns(&self) -> usize {
        self.flat().columns()
    }

    /// What one element is.
    pub fn scalar(&self) -> Scalar {
        self.flat().scalar()
    }

    /// How many items [`RaggedRows::iter`] has: the texts, as [`Rows::len`] counts its rows.
    pub fn len(&self) -> usize {
        self.texts()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of all texts.
    pub fn flat(&self) -> Rows<'a> {
        Rows(self.0.flat())
    }

    /// Where each text's rows begin, and where the last one's end: `[texts + 1]`, in host memory for host and device
    /// rows.
    #[doc(alias = "uform_ragged_rows_offsets")]
    pub fn offsets(&self) -> &'a [u32] {
        self.0.offsets()
    }

    /// The rows of one text; `None` past the end.
    pub fn get(&self, text: usize) -> Option<Rows<'a>> {
        self.0.at(text).map(Rows)
    }

    /// The rows of one text.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) past the end.
    #[doc(alias = "uform_ragged_rows_at")]
    pub fn at(&self, text: usize) -> Result<Rows<'a>> {
        self.get(text).ok_or_else(|| Error::bad(format!("text {text} of {}", self.len())))
    }

    /// The rows of each text.
    pub fn iter(&self) -> TextRows<'a> {
        TextRows { rows: *self, first: 0, last: self.len() }
    }
}

impl fmt::Debug for RaggedRows<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}, of {} texts", self.flat(), self.len())
    }
}

impl<'a> IntoIterator for RaggedRows<'a> {
    type Item = Rows<'a>;
    type IntoIter = TextRows<'a>;
    fn into_iter(self) -> TextRows<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &RaggedRows<'a> {
    type Item = Rows<'a>;
    type IntoIter = TextRows<'a>;
    fn into_iter(self) -> TextRows<'a> {
        self.iter()
    }
}

/// The rows of each text: [`RaggedRows::iter`].
#[derive(Clone, Debug)]
pub struct TextRows<'a> {
    rows: RaggedRows<'a>,
    first: usize,
    last: usize,
}

impl<'a> Iterator for TextRows<'a> {
    type Item = Rows<'a>;

    fn next(&mut self) -> Option<Rows<'a>> {
        if self.first == self.last {
            return None;
        }
        self.first += 1;
        self.rows.get(self.first - 1)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.last - self.first, Some(self.last - self.first))
    }

    fn nth(&mut self, skipped: usize) -> Option<Rows<'a>> {
        self.first += skipped.min(self.last - self.first);
        self.next()
    }
}

impl DoubleEndedIterator for TextRows<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.first == self.last {
            return None;
        }
        self.last -= 1;
        self.rows.get(self.last)
    }
}

impl ExactSizeIterator for TextRows<'_> {}
impl FusedIterator for TextRows<'_> {}

/// A result that holds its bytes itself: it borrows no arena, and may go to other threads.
///
/// While it lives, calls on its arena answer [`Status::Contended`](crate::Status::Contended). To go on with the arena,
/// [detach](crate::Arena::detach) its storage:
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let pinned = model.text_encode(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.pin()?;
/// let refused = model.text_encode(&["another"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena);
/// assert_eq!(refused.unwrap_err(), Status::Contended);
/// let storage = arena.detach()?;
/// model.text_encode(&["another"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let embeddings = pinned.encoded().embeddings.unwrap();
/// assert_eq!(embeddings.values::<f32>()?.len(), 48);
/// # drop(storage);
/// # Ok(()) }
/// ```
///
/// The end of the arena, or of its detached storage, ends the reading: the bytes stay, but only [`Rows::as_ptr`] and the
/// counts of tokens reach them, and the other accessors answer
/// [`Status::InvalidArgument`](crate::Status::InvalidArgument), as in every language.
///
/// Its views borrow it in turn:
///
/// ```compile_fail,E0505
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let pinned = model.text_encode(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.pin()?;
/// let embeddings = pinned.encoded().embeddings.unwrap();
/// drop(pinned);
/// println!("{}", embeddings.values::<f32>()?[0]);
/// # Ok(()) }
/// ```
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let pinned = model.text_encode(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.pin()?;
/// let embeddings = pinned.encoded().embeddings.unwrap();
/// println!("{}", embeddings.values::<f32>()?[0]);
/// drop(pinned);
/// # Ok(()) }
/// ```
#[doc(alias = "uform_pin_t")]
#[doc(alias = "uform_rows_unpin")]
#[must_use = "dropping it ends the pin"]
pub struct Pinned {
    encoded: Encoded<'static>, // lent for the borrow of this object alone
    _pin: PinHandle,
}

impl Pinned {
    /// The result.
    pub fn encoded(&self) -> Encoded<'_> {
        self.encoded
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Pinned").field(&self.encoded).finish()
    }
}
