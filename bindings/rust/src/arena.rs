//! Where the outputs of calls land.

use std::fmt;

use crate::executor::Executor;
use crate::ffi::{ArenaHandle, DetachedHandle, RawDescription};
use crate::status::Result;
use crate::tape::Tape;

/// A kind of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[doc(alias = "uform_residency_t")]
pub enum Residency {
    /// Host pages.
    Ram,
    /// The memory of one GPU.
    Vram,
}

/// Where an [`Arena`]'s outputs lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[doc(alias = "uform_arena_description_t")]
pub struct ArenaDescription {
    /// [`Residency::Ram`] for host pages, [`Residency::Vram`] for a device's memory.
    pub residency: Residency,
    /// The device's ordinal, as [`Executor::for_vram`] takes it; `None` for host pages.
    pub device: Option<u32>,
}

impl From<RawDescription> for ArenaDescription {
    fn from(raw: RawDescription) -> Self {
        let residency = if raw.residency == 0 { Residency::Ram } else { Residency::Vram };
        Self { residency, device: u32::try_from(raw.device).ok() }
    }
}

/// Memory that the outputs of calls land in, used again by each.
///
/// A verb takes `&mut Arena`, and its result borrows it: no copy is made, and the compiler knows when a result is over.
/// Nothing is allocated before the first call, and after the largest one nothing more.
///
/// ```
/// # fn main() -> uform::Result<()> {
/// use uform::{Arena, Executor, Model, Outputs, Scalar};
/// # let batches = [vec!["a", "bc"], vec!["def"]];
/// # fn consume(_: Option<&[f32]>) {}
/// let (executor, model) = (Executor::for_ram(0)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new_in(&executor)?;
/// for batch in &batches {
///     let encoded = model.on(&executor).text_encode(batch, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
///     consume(encoded.embeddings.map(|rows| rows.values::<f32>()).transpose()?);
/// }
/// # Ok(()) }
/// ```
///
/// An arena of host pages serves any call on the host, and may outlive its executor; one of a device serves only its
/// executor, and keeps it alive. One that a leaked [`Deferred`](crate::Deferred) or a [`Pinned`](crate::Pinned) result
/// holds answers [`Status::Contended`](crate::Status::Contended). Dropping an arena waits for a leaked call that writes
/// into it, and never for readers.
///
/// # What doesn't compile
///
/// Each example that is refused stands beside one that isn't.
///
/// A later call on the same arena ends the results of the earlier one:
///
/// ```compile_fail,E0499
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let first = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let second = model.text_encode(&["b"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// println!("{:?} {:?}", first, second);
/// # Ok(()) }
/// ```
///
/// with an arena of its own for each, both can be read:
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let (mut arena, mut other) = (Arena::new()?, Arena::new()?);
/// let first = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let second = model.text_encode(&["b"], Outputs::EMBEDDINGS, Scalar::F32, &mut other)?;
/// println!("{:?} {:?}", first, second);
/// # Ok(()) }
/// ```
///
/// Neither results nor the slices read from them outlive the arena:
///
/// ```compile_fail,E0505
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let values = encoded.embeddings.unwrap().values::<f32>()?;
/// drop(arena);
/// println!("{}", values[0]);
/// # Ok(()) }
/// ```
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let values = encoded.embeddings.unwrap().values::<f32>()?;
/// println!("{}", values[0]);
/// drop(arena);
/// # Ok(()) }
/// ```
///
/// Nor is the variable assigned under them:
///
/// ```compile_fail,E0506
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// arena = Arena::new_in(&executor)?;
/// println!("{encoded:?}");
/// # Ok(()) }
/// ```
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// println!("{encoded:?}");
/// arena = Arena::new_in(&executor)?;
/// # drop(arena);
/// # Ok(()) }
/// ```
///
/// Nor asked anything, as a result holds all of it; ask first:
///
/// ```compile_fail,E0502
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let description = arena.describe()?;
/// println!("{encoded:?} in {description:?}");
/// # Ok(()) }
/// ```
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let description = arena.describe()?;
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// println!("{encoded:?} in {description:?}");
/// # Ok(()) }
/// ```
///
/// An arena of an inner scope takes its results with it:
///
/// ```compile_fail,E0597
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let values = {
///     let mut arena = Arena::new()?;
///     let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
///     encoded.embeddings.unwrap().values::<f32>()?
/// };
/// println!("{}", values[0]);
/// # Ok(()) }
/// ```
///
/// unless they are copied:
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let values = {
///     let mut arena = Arena::new()?;
///     let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
///     encoded.embeddings.unwrap().values::<f32>()?.to_vec()
/// };
/// println!("{}", values[0]);
/// # Ok(()) }
/// ```
///
/// A temporary one is gone at once:
///
/// ```compile_fail,E0716
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut Arena::new()?)?;
/// println!("{encoded:?}");
/// # Ok(()) }
/// ```
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// println!("{encoded:?}");
/// # Ok(()) }
/// ```
///
/// The arena's own rows are no input of a call on it:
///
/// ```compile_fail,E0499
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::I8, &mut arena)?;
/// let bytes = encoded.embeddings.unwrap().values::<u8>()?;
/// let tape = TapeView::of(bytes, &[0, 8])?;
/// model.text_encode(&tape, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// # Ok(()) }
/// ```
///
/// but of one on another arena:
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let (mut arena, mut other) = (Arena::new()?, Arena::new()?);
/// let encoded = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let bytes: Vec<u8> = encoded.truncated_tokens.iter().flat_map(|count| count.to_le_bytes()).collect();
/// let tape = TapeView::of(&bytes, &[0, 4])?;
/// model.text_encode(&tape, Outputs::EMBEDDINGS, Scalar::F32, &mut other)?;
/// # Ok(()) }
/// ```
///
/// A thread that isn't waited for can't have them:
///
/// ```compile_fail,E0597
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let rows = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.embeddings.unwrap();
/// std::thread::spawn(move || println!("{rows:?}")).join().unwrap();
/// # Ok(()) }
/// ```
///
/// a scoped one can:
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arena = Arena::new()?;
/// let rows = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.embeddings.unwrap();
/// std::thread::scope(|scope| scope.spawn(move || println!("{rows:?}")).join().unwrap());
/// # Ok(()) }
/// ```
///
/// Of a slice of arenas, two are borrowed one by one:
///
/// ```compile_fail,E0499
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arenas = [Arena::new()?, Arena::new()?];
/// let first = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arenas[0])?;
/// let second = model.text_encode(&["b"], Outputs::EMBEDDINGS, Scalar::F32, &mut arenas[1])?;
/// println!("{:?} {:?}", first, second);
/// # Ok(()) }
/// ```
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// let mut arenas = [Arena::new()?, Arena::new()?];
/// let [one, two] = &mut arenas; // or iter_mut, split_at_mut, get_disjoint_mut
/// let first = model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, one)?;
/// let second = model.text_encode(&["b"], Outputs::EMBEDDINGS, Scalar::F32, two)?;
/// println!("{:?} {:?}", first, second);
/// # Ok(()) }
/// ```
///
/// One limit of today's borrow checker: a function that returns a result can't use the arena again where there is none.
///
/// ```compile_fail,E0499
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// fn encode<'a>(model: &Model, arena: &'a mut Arena) -> Result<Encoded<'a>> {
///     match model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, arena) {
///         Ok(encoded) => Ok(encoded),
///         Err(_) => model.text_encode(&["b"], Outputs::EMBEDDINGS, Scalar::F32, arena),
///     }
/// }
/// # encode(&model, &mut Arena::new()?)?;
/// # Ok(()) }
/// ```
///
/// It can, if it looks at the status alone first:
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?);
/// fn encode<'a>(model: &Model, arena: &'a mut Arena) -> Result<Encoded<'a>> {
///     match model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, arena).map(drop) {
///         Ok(()) => model.text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, arena),
///         Err(_) => model.text_encode(&["b"], Outputs::EMBEDDINGS, Scalar::F32, arena),
///     }
/// }
/// # encode(&model, &mut Arena::new()?)?;
/// # Ok(()) }
/// ```
#[doc(alias = "uform_arena_t")]
#[doc(alias = "uform_arena_free")]
pub struct Arena {
    pub(crate) handle: ArenaHandle,
    /// Where strings that lie apart are laid end to end for a call; of pairs, both.
    pub(crate) scratch: [Tape; 2],
}

impl Arena {
    /// Makes an arena of host pages. Allocates no memory for outputs.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory), or
    /// [`Status::Unsupported`](crate::Status::Unsupported) for a library of another interface.
    #[doc(alias = "uform_arena_init")]
    pub fn new() -> Result<Self> {
        Ok(Self { handle: ArenaHandle::new(None)?, scratch: [Tape::new(), Tape::new()] })
    }

    /// Makes an arena where `executor` computes. Allocates no memory for outputs.
    ///
    /// # Errors
    /// As of [`Arena::new`].
    #[doc(alias = "uform_arena_init")]
    pub fn new_in(executor: &Executor) -> Result<Self> {
        Ok(Self { handle: ArenaHandle::new(Some(&executor.handle))?, scratch: [Tape::new(), Tape::new()] })
    }

    /// Where the outputs lie.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_arena_describe")]
    pub fn describe(&self) -> Result<ArenaDescription> {
        self.handle.describe().map(ArenaDescription::from)
    }

    /// Bytes of memory that it holds for outputs.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_arena_capacity")]
    pub fn capacity(&self) -> Result<usize> {
        self.handle.capacity().map(|bytes| bytes as usize)
    }

    /// The most bytes that a call's outputs may take; `None` where no limit was set.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_arena_limit")]
    pub fn limit(&self) -> Result<Option<u64>> {
        self.handle.limit().map(|bytes| (bytes != u64::MAX).then_some(bytes))
    }

    /// Sets that limit; `None` for no limit. A later call that needs more answers
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory). Memory that it has already is kept until [`Arena::trim`].
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_arena_set_limit")]
    pub fn set_limit(&mut self, bytes: Option<u64>) -> Result<()> {
        self.handle.set_limit(bytes.unwrap_or(u64::MAX))
    }

    /// Makes room for `bytes` of outputs before they are needed.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory), also over the limit;
    /// [`Status::Contended`](crate::Status::Contended) while a leaked call has the arena;
    /// [`Status::Device`](crate::Status::Device).
    #[doc(alias = "uform_arena_reserve")]
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.handle.reserve(bytes as u64)
    }

    /// Gives back the memory that the last results don't use, and that in which strings were laid end to end.
    ///
    /// # Errors
    /// [`Status::Contended`](crate::Status::Contended) while a leaked call has the arena.
    #[doc(alias = "uform_arena_trim")]
    pub fn trim(&mut self) -> Result<()> {
        self.scratch = [Tape::new(), Tape::new()];
        self.handle.trim()
    }

    /// Gives the storage away, with the [`Pinned`](crate::Pinned) results in it, and starts afresh with the same limit.
    /// Nothing is copied.
    ///
    /// ```
    /// # fn main() -> uform::Result<()> {
    /// # use uform::*;
    /// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
    /// let kept = model.text_encode(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.pin()?;
    /// let storage = arena.detach()?;
    /// model.text_encode(&["another"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?; // not `Contended`
    /// println!("{:?} of {} bytes", kept.encoded(), storage.capacity()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Status::Contended`](crate::Status::Contended) while a leaked call has the arena;
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory). Nothing has changed then.
    #[doc(alias = "uform_arena_detach")]
    pub fn detach(&mut self) -> Result<Detached> {
        Ok(Detached { handle: self.handle.detach()? })
    }
}

// The handle frees itself. This stands here so that nobody takes an arena apart, and that the documents list it.
impl Drop for Arena {
    fn drop(&mut self) {}
}

impl fmt::Debug for Arena {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(out.debug_struct("Arena"), self.describe())
    }
}

/// Storage that an arena gave away: [`Arena::detach`]. The [`Pinned`](crate::Pinned) results in it can be read as long
/// as it lives.
#[doc(alias = "uform_detached_t")]
#[doc(alias = "uform_detached_free")]
pub struct Detached {
    handle: DetachedHandle,
}

impl Detached {
    /// Where it lies.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_detached_describe")]
    pub fn describe(&self) -> Result<ArenaDescription> {
        self.handle.describe().map(ArenaDescription::from)
    }

    /// Bytes of memory that it holds.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_detached_capacity")]
    pub fn capacity(&self) -> Result<usize> {
        self.handle.capacity().map(|bytes| bytes as usize)
    }
}

impl fmt::Debug for Detached {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(out.debug_struct("Detached"), self.describe())
    }
}

fn describe(mut fields: fmt::DebugStruct<'_, '_>, description: Result<ArenaDescription>) -> fmt::Result {
    if let Ok(description) = description {
        fields.field("residency", &description.residency).field("device", &description.device);
    }
    fields.finish_non_exhaustive()
}
