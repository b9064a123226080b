//! What a model does with texts: the verbs, now and deferred.

use crate::arena::Arena;
use crate::deferred::Deferred;
use crate::executor::Executor;
use crate::ffi::{self, Call, InFlight, Verb};
use crate::model::Model;
use crate::options::{ClassifyOptions, EncodeOptions, RerankOptions};
use crate::outputs::Outputs;
use crate::results::Encoded;
use crate::scalar::Scalar;
use crate::status::Result;
use crate::tape::Texts;

/// A model, and where it computes: [`Model::on`]. `Copy`.
///
/// The errors of all verbs:
///
/// - [`Status::Contended`](crate::Status::Contended): a leaked [`Deferred`] or a [`Pinned`](crate::Pinned) result holds
///   the arena.
/// - [`Status::InvalidArgument`](crate::Status::InvalidArgument): a tape, output, scalar or option that can't be, a
///   prompt that isn't there, a text too long where [`Truncate::Refuse`](crate::Truncate::Refuse) says so, texts of
///   unequal counts, an arena of another residency or of another device's executor.
/// - [`Status::Unsupported`](crate::Status::Unsupported): an output or scalar that this model or version can't serve.
/// - [`Status::OutOfMemory`](crate::Status::OutOfMemory), [`Status::Cancelled`](crate::Status::Cancelled).
/// - [`Status::Corrupt`](crate::Status::Corrupt): results that aren't numbers.
///
/// After its largest call a loop allocates nothing, in Rust or in the library. A text's rows are the same bits alone,
/// beside any other text, and on any number of threads.
#[derive(Clone, Copy, Debug)]
pub struct BoundModel<'m> {
    pub(crate) model: &'m Model,
    pub(crate) executor: Option<&'m Executor>,
}

impl<'m> BoundModel<'m> {
    /// The same verbs, on the executor's own thread while the caller goes on.
    pub fn deferred(self) -> DeferredModel<'m> {
        DeferredModel { bound: self }
    }

    /// Encodes each text into `arena`, whose previous results end here. Of `outputs` each is computed only if it is
    /// among them, all in one pass.
    ///
    /// # Errors
    /// Those of [all verbs](BoundModel).
    #[doc(alias = "uform_text_encode")]
    pub fn text_encode<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        outputs: Outputs,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Encoded<'a>> {
        self.text_encode_with(texts, outputs, scalar, arena, &EncodeOptions::default())
    }

    /// [`BoundModel::text_encode`] with options.
    ///
    /// # Errors
    /// Those of [all verbs](BoundModel).
    pub fn text_encode_with<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        outputs: Outputs,
        scalar: Scalar,
        arena: &'a mut Arena,
        options: &EncodeOptions<'_>,
    ) -> Result<Encoded<'a>> {
        let texts = texts.lay(&mut arena.scratch[0])?;
        let verb = Verb::Encode { texts, outputs: outputs.bits(), options };
        Ok(ffi::run(&self.call(scalar, verb), &mut arena.handle)?.into_encoded())
    }

    /// Gives the labels of each text their probabilities, `[texts, labels]`; or those of each token, as
    /// [`Encoded::token_probabilities`], where the model labels tokens. The columns are those of [`Model::labels`].
    ///
    /// # Errors
    /// Those of [all verbs](BoundModel).
    #[doc(alias = "uform_text_classify")]
    pub fn text_classify<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Encoded<'a>> {
        self.text_classify_with(texts, scalar, arena, &ClassifyOptions::default())
    }

    /// [`BoundModel::text_classify`] with options.
    ///
    /// # Errors
    /// Those of [all verbs](BoundModel).
    pub fn text_classify_with<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        scalar: Scalar,
        arena: &'a mut Arena,
        options: &ClassifyOptions<'_>,
    ) -> Result<Encoded<'a>> {
        let texts = texts.lay(&mut arena.scratch[0])?;
        let verb = Verb::Classify { texts, options };
        Ok(ffi::run(&self.call(scalar, verb), &mut arena.handle)?.into_encoded())
    }

    /// The same for pairs, `[pairs, labels]`: the first text of each with the second, or one first text with every
    /// second one.
    ///
    /// # Errors
    /// Those of [all verbs](BoundModel).
    #[doc(alias = "uform_text_classify_pairs")]
    pub fn text_classify_pairs<'a, F: Texts + ?Sized, S: Texts + ?Sized>(
        &self,
        first: &F,
        second: &S,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Encoded<'a>> {
        self.text_classify_pairs_with(first, second, scalar, arena, &ClassifyOptions::default())
    }

    /// [`BoundModel::text_classify_pairs`] with options.
    ///
    /// # Errors
    /// Those of [all verbs](BoundModel).
    pub fn text_classify_pairs_with<'a, F: Texts + ?Sized, S: Texts + ?Sized>(
        &self,
        first: &F,
        second: &S,
        scalar: Scalar,
        arena: &'a mut Arena,
        options: &ClassifyOptions<'_>,
    ) -> Result<Encoded<'a>> {
        let [of_first, of_second] = &mut arena.scratch;
        let verb = Verb::ClassifyPairs { first: first.lay(of_first)?, second: second.lay(of_second)?, options };
        Ok(ffi::run(&self.call(scalar, verb), &mut arena.handle)?.into_encoded())
    }

    /// Scores documents for a query each, or for one query: [`Encoded::probabilities`] `[pairs, 1]`; the larger, the
    /// better the document answers.
    ///
    /// ```
    /// # fn main() -> uform::Result<()> {
    /// # use uform::*;
    /// # let (model, mut arena) = (Model::load("../../tests/data/outputs/bert-reranker")?, Arena::new()?);
    /// let documents = ["It rains.", "The harvest was good.", "Bread is made of flour."];
    /// let ranked = model.text_rerank("what is bread made of?", &documents, Scalar::F32, &mut arena)?;
    /// assert_eq!(ranked.probabilities.unwrap().shape(), [3, 1]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [all verbs](BoundModel).
    #[doc(alias = "uform_text_rerank")]
    pub fn text_rerank<'a, Q: Texts + ?Sized, D: Texts + ?Sized>(
        &self,
        queries: &Q,
        documents: &D,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Encoded<'a>> {
        self.text_rerank_with(queries, documents, scalar, arena, &RerankOptions::default())
    }

    /// [`BoundModel::text_rerank`] with options.
    ///
    /// # Errors
    /// Those of [all verbs](BoundModel).
    pub fn text_rerank_with<'a, Q: Texts + ?Sized, D: Texts + ?Sized>(
        &self,
        queries: &Q,
        documents: &D,
        scalar: Scalar,
        arena: &'a mut Arena,
        options: &RerankOptions<'_>,
    ) -> Result<Encoded<'a>> {
        let [of_queries, of_documents] = &mut arena.scratch;
        let (queries, documents) = (queries.lay(of_queries)?, documents.lay(of_documents)?);
        let verb = Verb::Rerank { queries, documents, options };
        Ok(ffi::run(&self.call(scalar, verb), &mut arena.handle)?.into_encoded())
    }

    fn call<'c>(&'c self, scalar: Scalar, verb: Verb<'c>) -> Call<'c> {
        Call {
            model: &self.model.handle,
            executor: self.executor.map(|executor| &executor.handle),
            scalar: scalar.code(),
            verb,
        }
    }
}

/// A model whose verbs answer a [`Deferred`] call: [`BoundModel::deferred`]. `Copy`.
///
/// Texts and options are consumed before a verb returns. Calls of one executor run one after the other, in the order of
/// their submits, and each in flight needs an arena of its own. What is known at once, such as
/// [`Status::Contended`](crate::Status::Contended), is answered by the verb, the rest by [`Deferred::wait`]; beside
/// those of [all verbs](BoundModel), it is [`Status::OutOfMemory`](crate::Status::OutOfMemory) where the executor's own
/// thread can't be had, and [`Status::InvalidArgument`](crate::Status::InvalidArgument) without an executor.
#[derive(Clone, Copy, Debug)]
pub struct DeferredModel<'m> {
    bound: BoundModel<'m>,
}

impl DeferredModel<'_> {
    /// Submits a [`BoundModel::text_encode`].
    ///
    /// # Errors
    /// Those of [deferred calls](DeferredModel).
    #[doc(alias = "uform_text_encode_deferred")]
    pub fn text_encode<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        outputs: Outputs,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Deferred<'a>> {
        self.text_encode_with(texts, outputs, scalar, arena, &EncodeOptions::default())
    }

    /// [`DeferredModel::text_encode`] with options.
    ///
    /// # Errors
    /// Those of [deferred calls](DeferredModel).
    pub fn text_encode_with<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        outputs: Outputs,
        scalar: Scalar,
        arena: &'a mut Arena,
        options: &EncodeOptions<'_>,
    ) -> Result<Deferred<'a>> {
        let texts = texts.lay(&mut arena.scratch[0])?;
        let verb = Verb::Encode { texts, outputs: outputs.bits(), options };
        InFlight::submit(&self.bound.call(scalar, verb), &mut arena.handle).map(Deferred::new)
    }

    /// Submits a [`BoundModel::text_classify`].
    ///
    /// # Errors
    /// Those of [deferred calls](DeferredModel).
    #[doc(alias = "uform_text_classify_deferred")]
    pub fn text_classify<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Deferred<'a>> {
        self.text_classify_with(texts, scalar, arena, &ClassifyOptions::default())
    }

    /// [`DeferredModel::text_classify`] with options.
    ///
    /// # Errors
    /// Those of [deferred calls](DeferredModel).
    pub fn text_classify_with<'a, T: Texts + ?Sized>(
        &self,
        texts: &T,
        scalar: Scalar,
        arena: &'a mut Arena,
        options: &ClassifyOptions<'_>,
    ) -> Result<Deferred<'a>> {
        let texts = texts.lay(&mut arena.scratch[0])?;
        let verb = Verb::Classify { texts, options };
        InFlight::submit(&self.bound.call(scalar, verb), &mut arena.handle).map(Deferred::new)
    }

    /// Submits a [`BoundModel::text_classify_pairs`].
    ///
    /// # Errors
    /// Those of [deferred calls](DeferredModel).
    #[doc(alias = "uform_text_classify_pairs_deferred")]
    pub fn text_classify_pairs<'a, F: Texts + ?Sized, S: Texts + ?Sized>(
        &self,
        first: &F,
        second: &S,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Deferred<'a>> {
        self.text_classify_pairs_with(first, second, scalar, arena, &ClassifyOptions::default())
    }

    /// [`DeferredModel::text_classify_pairs`] with options.
    ///
    /// # Errors
    /// Those of [deferred calls](DeferredModel).
    pub fn text_classify_pairs_with<'a, F: Texts + ?Sized, S: Texts + ?Sized>(
        &self,
        first: &F,
        second: &S,
        scalar: Scalar,
        arena: &'a mut Arena,
        options: &ClassifyOptions<'_>,
    ) -> Result<Deferred<'a>> {
        let [of_first, of_second] = &mut arena.scratch;
        let verb = Verb::ClassifyPairs { first: first.lay(of_first)?, second: second.lay(of_second)?, options };
        InFlight::submit(&self.bound.call(scalar, verb), &mut arena.handle).map(Deferred::new)
    }

    /// Submits a [`BoundModel::text_rerank`].
    ///
    /// # Errors
    /// Those of [deferred calls](DeferredModel).
    #[doc(alias = "uform_text_rerank_deferred")]
    pub fn text_rerank<'a, Q: Texts + ?Sized, D: Texts + ?Sized>(
        &self,
        queries: &Q,
        documents: &D,
        scalar: Scalar,
        arena: &'a mut Arena,
    ) -> Result<Deferred<'a>> {
        self.text_rerank_with(queries, documents, scalar, arena, &RerankOptions::default())
    }

    /// [`DeferredModel::text_rerank`] with options.
    ///
    /// # Errors
    /// Those of [deferred calls](DeferredModel).
    pub fn text_rerank_with<'a, Q: Texts + ?Sized, D: Texts + ?Sized>(
        &self,
        queries: &Q,
        documents: &D,
        scalar: Scalar,
        arena: &'a mut Arena,
        options: &RerankOptions<'_>,
    ) -> Result<Deferred<'a>> {
        let [of_queries, of_documents] = &mut arena.scratch;
        let (queries, documents) = (queries.lay(of_queries)?, documents.lay(of_documents)?);
        let verb = Verb::Rerank { queries, documents, options };
        InFlight::submit(&self.bound.call(scalar, verb), &mut arena.handle).map(Deferred::new)
    }
}
