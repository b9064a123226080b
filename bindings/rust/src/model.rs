//! A folder of weights, loaded once.

use std::fmt;
use std::path::Path;

use crate::arena::Arena;
use crate::executor::Executor;
use crate::ffi::{ModelHandle, Properties};
use crate::options::{InstructionSet, LoadOptions};
use crate::outputs::Outputs;
use crate::results::Encoded;
use crate::scalar::Scalar;
use crate::status::Result;
use crate::tape::Texts;
use crate::tokenizer::Tokenizer;
use crate::verbs::BoundModel;

/// How two embeddings of a model are meant to be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
#[doc(alias = "uform_similarity_t")]
pub enum Similarity {
    /// The cosine of their angle.
    Cosine,
    /// Their dot product.
    Dot,
    /// The length of their difference.
    Euclidean,
    /// The sum of the absolute differences.
    Manhattan,
    /// For each vector of a query the largest dot product with one of the document's, summed.
    MaxSim,
    /// That, over the number of the query's vectors.
    MeanMaxSim,
    /// The number of one that only a later library has.
    Unknown(i32),
}

impl Similarity {
    const fn from_code(code: i32) -> Self {
        match code {
            0 => Self::Cosine,
            1 => Self::Dot,
            2 => Self::Euclidean,
            3 => Self::Manhattan,
            4 => Self::MaxSim,
            5 => Self::MeanMaxSim,
            code => Self::Unknown(code),
        }
    }
}

/// A folder of weights, loaded once. It never changes, and takes calls from any threads.
///
/// The weights are in memory once; tables of embeddings stay in the file's mapping, which must not be changed meanwhile.
#[doc(alias = "uform_model_t")]
#[doc(alias = "uform_model_free")]
pub struct Model {
    pub(crate) handle: ModelHandle,
    properties: Properties,
}

impl Model {
    /// Loads a folder as sentence-transformers or transformers publish it, without any conversion.
    ///
    /// # Errors
    /// [`Status::Io`](crate::Status::Io): a file that isn't there or can't be read.
    /// [`Status::Corrupt`](crate::Status::Corrupt): a damaged or contradictory one.
    /// [`Status::Unsupported`](crate::Status::Unsupported): an architecture, module, tokenizer or option that this
    /// version doesn't serve, or a library of another interface. [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument): an empty path, or one with a zero byte.
    #[doc(alias = "uform_model_load")]
    pub fn load(folder: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(folder, &LoadOptions::default())
    }

    /// Loads a folder with options.
    ///
    /// # Errors
    /// As of [`Model::load`].
    pub fn load_with(folder: impl AsRef<Path>, options: &LoadOptions) -> Result<Self> {
        let handle = ModelHandle::load(folder.as_ref(), options.compute.code(), options.instruction_set.code())?;
        let properties = handle.properties()?;
        Ok(Self { handle, properties })
    }

    /// Columns of the embeddings.
    pub fn dimensions(&self) -> usize {
        self.properties.dimensions as usize
    }

    /// Columns of the states.
    pub fn hidden_size(&self) -> usize {
        self.properties.hidden_size as usize
    }

    /// Layers of the encoder.
    pub fn layers(&self) -> usize {
        self.properties.layers as usize
    }

    /// Tokens of the longest text that is read whole, special ones included.
    pub fn max_sequence_length(&self) -> usize {
        self.properties.max_sequence_length as usize
    }

    /// The outputs that calls may ask for.
    pub fn outputs(&self) -> Outputs {
        Outputs::from_bits(self.properties.outputs)
    }

    /// Whether embeddings are of unit length as the model was published.
    pub fn normalizes(&self) -> bool {
        self.properties.normalizes != 0
    }

    /// How two embeddings are meant to be compared.
    pub fn similarity(&self) -> Similarity {
        Similarity::from_code(self.properties.similarity)
    }

    /// The kernels that calls use.
    pub fn instruction_set(&self) -> InstructionSet {
        InstructionSet::from_code(self.properties.instruction_set)
    }

    /// A classifier's labels, in the order of the columns of probabilities; none for an encoder.
    pub fn labels(&self) -> &[String] {
        &self.properties.labels
    }

    /// Names that [`EncodeOptions::prompt`](crate::EncodeOptions::prompt) may take.
    pub fn prompts(&self) -> &[String] {
        &self.properties.prompts
    }

    /// What the folder says that isn't followed.
    pub fn warnings(&self) -> &[String] {
        &self.properties.warnings
    }

    /// The model's tokenizer, which may outlive it.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    #[doc(alias = "uform_model_tokenizer")]
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        Ok(Tokenizer { handle: self.handle.tokenizer()? })
    }

    /// The verbs, computed by `executor`.
    pub fn on<'m>(&'m self, executor: &'m Executor) -> BoundModel<'m> {
        BoundModel { model: self, executor: Some(executor) }
    }

    /// The verbs, computed by the thread that calls them, with a workspace that the model keeps for it.
    pub fn on_calling_thread(&self) -> BoundModel<'_> {
        BoundModel { model: self, executor: None }
    }

    /// [`BoundModel::text_encode`] on the calling thread.
    ///
    /// # Errors
    /// As there.
    pub fn text_encode<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        outputs: Outputs,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Encoded<'a>> {
        self.on_calling_thread().text_encode(texts, outputs, scalar, arena)
    }

    /// [`BoundModel::text_classify`] on the calling thread.
    ///
    /// # Errors
    /// As there.
    pub fn text_classify<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Encoded<'a>> {
        self.on_calling_thread().text_classify(texts, scalar, arena)
    }

    /// [`BoundModel::text_classify_pairs`] on the calling thread.
    ///
    /// # Errors
    /// As there.
    pub fn text_classify_pairs<'a, F: Texts + ?Sized, S: Texts + ?Sized>(
        &self,
        first: &F,
        second: &S,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Encoded<'a>> {
        self.on_calling_thread().text_classify_pairs(first, second, scalar, arena)
    }

    /// [`BoundModel::text_rerank`] on the calling thread.
    ///
    /// # Errors
    /// As there.
    pub fn text_rerank<'a, Q: Texts + ?Sized, D: Texts + ?Sized>(
        &self,
        queries: &Q,
        documents: &D,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Encoded<'a>> {
        self.on_calling_thread().text_rerank(queries, documents, scalar, arena)
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Model")
            .field("dimensions", &self.dimensions())
            .field("layers", &self.layers())
            .field("outputs", &self.outputs())
            .field("instruction_set", &self.instruction_set())
            .finish_non_exhaustive()
    }
}
