//! Text encoders that write into arenas: embeddings, token states, classes and ranks, with no copy of what comes out.
//!
//! ```
//! # fn main() -> uform::Result<()> {
//! use uform::{Arena, Executor, Model, Outputs, Scalar};
//!
//! # let folder = "../../tests/data/tiny";
//! let executor = Executor::for_ram(0)?; // as many threads as the process may use
//! let model = Model::load(folder)?; // as sentence-transformers publishes it
//! let mut arena = Arena::new_in(&executor)?;
//!
//! let texts = ["A man is eating food.", "Someone has a meal."];
//! let encoded = model.on(&executor).text_encode(&texts, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
//! if let Some(embeddings) = encoded.embeddings {
//!     for vector in embeddings.iter::<f32>()? {
//!         println!("{:?}", &vector[..4]); // where the model wrote it
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! [`Model`] and [`Executor`] are used from any threads; an [`Arena`] serves one call at a time, and its results borrow
//! it. [`Pinned`] results don't; a [`Deferred`] call runs while its caller goes on. Every failure is an [`Error`] with a
//! [`Status`]; nothing panics but what says so.
//!
//! # Finding the library
//!
//! By default the crate compiles the library of C functions with `$CXX`, a C++20 compiler, and links it statically; it
//! needs the headers of RapidJSON. With `UFORM_LIB_DIR` it links the library in that folder, and with `UFORM_SYSTEM=1`
//! the one that `pkg-config` finds. A library of another interface is [`Status::Unsupported`] in every constructor, with
//! both versions.
#![deny(unsafe_code)]

mod arena;
mod deferred;
mod executor;
#[allow(unsafe_code)]
mod ffi;
mod model;
mod options;
mod outputs;
mod results;
mod scalar;
mod status;
mod tape;
mod tokenizer;
mod verbs;

pub use arena::{Arena, ArenaDescription, Detached, Residency};
pub use deferred::Deferred;
pub use executor::Executor;
pub use model::{Model, Similarity};
pub use options::{
    Activation, Cancellation, ClassifyOptions, EncodeOptions, InstructionSet, LoadOptions, Normalize, RerankOptions,
    Role, Truncate,
};
pub use outputs::Outputs;
pub use results::{Encoded, Pinned, RaggedRows, Rows, TextRows};
pub use scalar::{B1x8, Bf16, Element, F16, Scalar};
pub use status::{Error, Result, Status};
pub use tape::{Offset, Tape, TapeView, Texts};
pub use tokenizer::Tokenizer;
pub use verbs::{BoundModel, DeferredModel};

/// "major.minor.patch" of the library that is loaded.
#[doc(alias = "uform_version")]
pub fn version() -> &'static str {
    ffi::version()
}

// What may cross threads, and what may not, is part of the interface.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Arena>();
    is_shared::<Detached>();
    is_shared::<Executor>();
    is_shared::<Model>();
    is_shared::<Tokenizer>();
    is_shared::<Cancellation>();
    is_shared::<Encoded<'static>>();
    is_shared::<Rows<'static>>();
    is_shared::<RaggedRows<'static>>();
    is_shared::<Pinned>();
    const fn is_sent<T: Send + Unpin>() {}
    is_sent::<Deferred<'static>>();
};
