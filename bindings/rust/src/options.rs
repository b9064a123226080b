//! How folders are loaded and texts are encoded, beside what is asked for.

use std::sync::Arc;

use crate::ffi::CancellationHandle;
use crate::scalar::Scalar;
use crate::status::{Error, Result};

/// How a folder is loaded; [`Default`] is as [`Model::load`](crate::Model::load) does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[doc(alias = "uform_load_options_t")]
pub struct LoadOptions {
    /// What the encoder computes in: [`Scalar::F32`] in this version.
    pub compute: Scalar,
    /// The kernels. Vectors of different sets differ in their last bits: name one where machines share an index.
    pub instruction_set: InstructionSet,
}

/// The kernels of a model. On one machine and build a set gives the same bits in every call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[non_exhaustive]
#[doc(alias = "uform_instruction_set_t")]
pub enum InstructionSet {
    /// In options: the best that the machine has. A model never answers it.
    #[default]
    Best,
    /// What every processor of the architecture has.
    Portable,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512.
    Avx512,
    /// The number of a set that only a later library has.
    Unknown(i32),
}

impl InstructionSet {
    pub(crate) const fn from_code(code: i32) -> Self {
        match code {
            0 => Self::Best,
            1 => Self::Portable,
            2 => Self::Avx2,
            3 => Self::Avx512,
            code => Self::Unknown(code),
        }
    }

    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::Best => 0,
            Self::Portable => 1,
            Self::Avx2 => 2,
            Self::Avx512 => 3,
            Self::Unknown(code) => code,
        }
    }
}

/// What happens to a text that is longer than [`Model::max_sequence_length`](crate::Model::max_sequence_length).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Truncate {
    /// Its end is cut, and [`Encoded::truncated_tokens`](crate::Encoded::truncated_tokens) counts the tokens. Of a pair
    /// the longer text is cut first.
    #[default]
    Cut = 0,
    /// The call answers [`Status::InvalidArgument`](crate::Status::InvalidArgument), and nothing is touched.
    Refuse = 1,
}

/// Whether embeddings and token vectors are scaled to unit length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Normalize {
    /// As the model's folder says.
    #[default]
    AsPublished = 0,
    /// They are.
    On = 1,
    /// They aren't.
    Off = 2,
}

/// What a text is, for models that make other token vectors of queries than of documents; it changes nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Role {
    /// One of the texts that are searched.
    #[default]
    Document = 0,
    /// What is searched for.
    Query = 1,
}

/// What the scores of a classifier or reranker go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Activation {
    /// As the model's folder says.
    #[default]
    AsPublished = 0,
    /// Nothing: the scores as they are.
    None = 1,
    /// Each by itself: 1 / (1 + e^-x).
    Sigmoid = 2,
    /// All of a text, or of a token: they sum to 1.
    Softmax = 3,
}

/// How texts are encoded; [`Default`] is as the model was published.
///
/// ```
/// # fn main() -> uform::Result<()> {
/// use uform::{Arena, EncodeOptions, Model, Outputs, Scalar};
/// let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let options = EncodeOptions { dimensions: Some(16), ..Default::default() };
/// let verbs = model.on_calling_thread();
/// let encoded = verbs.text_encode_with(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena, &options)?;
/// assert_eq!(encoded.embeddings.unwrap().shape(), [1, 16]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[doc(alias = "uform_encode_options_t")]
pub struct EncodeOptions<'o> {
    /// One of [`Model::prompts`](crate::Model::prompts); `None` or an empty name: the folder's default, if it has one.
    pub prompt: Option<&'o str>,
    /// What becomes of texts that are too long.
    pub truncate: Truncate,
    /// Columns of the embeddings, at least 1; `None`: the model's. Fewer cut each vector before it is normalised.
    pub dimensions: Option<usize>,
    /// The most tokens that are computed at once, on all threads together, at least 1; `None`: no such limit.
    pub tokens_per_call: Option<usize>,
    /// Of embeddings and token vectors.
    pub normalize: Normalize,
    /// What the texts are.
    pub role: Role,
    /// What can stop the call.
    pub cancellation: Option<&'o Cancellation>,
}

impl EncodeOptions<'_> {
    pub(crate) fn raw_dimensions(&self) -> Result<u64> {
        at_least_one("dimensions", self.dimensions)
    }

    pub(crate) fn raw_tokens_per_call(&self) -> Result<u64> {
        at_least_one("tokens_per_call", self.tokens_per_call)
    }
}

/// The library's 0 is `None` here, so that a 0 which was computed isn't taken for it.
fn at_least_one(name: &'static str, value: Option<usize>) -> Result<u64> {
    match value {
        Some(0) => Err(Error::bad(format!("options.{name}: 0"))),
        value => Ok(value.unwrap_or(0) as u64),
    }
}

/// How texts, or pairs of texts, are classified or ranked; [`Default`] is as the model was published.
#[derive(Clone, Copy, Debug, Default)]
#[doc(alias = "uform_classify_options_t")]
pub struct ClassifyOptions<'o> {
    /// What becomes of texts that are too long.
    pub truncate: Truncate,
    /// What the scores go through.
    pub activation: Activation,
    /// What can stop the call.
    pub cancellation: Option<&'o Cancellation>,
}

/// The same for [`text_rerank_with`](crate::BoundModel::text_rerank_with).
#[doc(alias = "uform_rerank_options_t")]
pub type RerankOptions<'o> = ClassifyOptions<'o>;

/// A flag by which any thread stops the calls that were given it. Clones share it.
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let stop = Cancellation::new()?;
/// let options = EncodeOptions { cancellation: Some(&stop), ..Default::default() };
/// stop.request(); // as another thread would
/// let verbs = model.on_calling_thread();
/// let refused = verbs.text_encode_with(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena, &options);
/// assert_eq!(refused.unwrap_err(), Status::Cancelled);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "uform_cancellation_t")]
pub struct Cancellation {
    /// Shared with the deferred calls that read it, so that one which is leaked keeps it.
    pub(crate) handle: Arc<CancellationHandle>,
}

impl Cancellation {
    /// Makes a flag that isn't set.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory), or
    /// [`Status::Unsupported`](crate::Status::Unsupported) for a library of another interface.
    #[doc(alias = "uform_cancellation_init")]
    pub fn new() -> Result<Self> {
        Ok(Self { handle: Arc::new(CancellationHandle::new()?) })
    }

    /// Sets it: calls that were given it stop soon, with [`Status::Cancelled`](crate::Status::Cancelled).
    #[doc(alias = "uform_cancellation_request")]
    pub fn request(&self) {
        let _ = self.handle.request(); // fails for a null alone
    }

    /// Takes it back, for the next call.
    #[doc(alias = "uform_cancellation_reset")]
    pub fn reset(&self) {
        let _ = self.handle.reset(); // fails for a null alone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn codes_there_and_back() {
        for code in 0..4 {
            assert_eq!(InstructionSet::from_code(code).code(), code);
            assert!(!matches!(InstructionSet::from_code(code), InstructionSet::Unknown(_)));
        }
        assert_eq!(InstructionSet::from_code(7), InstructionSet::Unknown(7));
    }

    #[test]
    fn a_zero_is_no_default() {
        let refused = at_least_one("dimensions", Some(0)).unwrap_err();
        assert!(refused == Status::InvalidArgument && refused.message().contains("options.dimensions"));
        assert_eq!((at_least_one("x", None), at_least_one("x", Some(7))), (Ok(0), Ok(7)));
    }
}
