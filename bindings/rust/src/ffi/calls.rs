//! The verbs: calls now, and calls in flight.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::null;
use std::sync::Arc;

use super::handles::DeferredHandle;
use super::{ArenaHandle, CancellationHandle, ExecutorHandle, Message, ModelHandle, Views, abi, check};
use crate::options::{ClassifyOptions, EncodeOptions};
use crate::status::Result;
use crate::tape::{Offsets, TapeView};

/// A verb, with what it reads.
pub(crate) enum Verb<'c> {
    Encode { texts: TapeView<'c>, outputs: u32, options: &'c EncodeOptions<'c> },
    Classify { texts: TapeView<'c>, options: &'c ClassifyOptions<'c> },
    ClassifyPairs { first: TapeView<'c>, second: TapeView<'c>, options: &'c ClassifyOptions<'c> },
    Rerank { queries: TapeView<'c>, documents: TapeView<'c>, options: &'c ClassifyOptions<'c> },
}

/// A call, with all that must live while it is made.
pub(crate) struct Call<'c> {
    pub(crate) model: &'c ModelHandle,
    pub(crate) executor: Option<&'c ExecutorHandle>,
    pub(crate) scalar: i32,
    pub(crate) verb: Verb<'c>,
}

fn raw_tape(texts: TapeView<'_>) -> abi::Tape {
    let (bytes, offsets) = texts.parts();
    let (offsets, count, offset_bytes): (*const c_void, usize, u32) = match offsets {
        Offsets::One => (null(), 1, 0),
        Offsets::Narrow(list) => (list.as_ptr().cast(), list.len() - 1, 4),
        Offsets::Wide(list) => (list.as_ptr().cast(), list.len() - 1, 8),
    };
    abi::Tape {
        bytes: bytes.as_ptr().cast(),
        size: bytes.len() as u64,
        offsets,
        texts: count as u64,
        offset_bytes,
        reserved: 0,
    }
}

fn raw_cancellation(cancellation: Option<&Arc<CancellationHandle>>) -> *mut c_void {
    cancellation.map_or(std::ptr::null_mut(), |handle| handle.raw())
}

fn raw_encode_options(options: &EncodeOptions<'_>) -> Result<abi::EncodeOptions> {
    // An empty name would be read up to a zero byte that isn't there: it is no name.
    let prompt = options.prompt.filter(|name| !name.is_empty());
    Ok(abi::EncodeOptions {
        size: size_of::<abi::EncodeOptions>() as u64,
        prompt: prompt.map_or(null(), |name| name.as_ptr().cast::<c_char>()),
        prompt_size: prompt.map_or(0, |name| name.len() as u64),
        dimensions: options.raw_dimensions()?,
        tokens_per_call: options.raw_tokens_per_call()?,
        truncate: options.truncate as i32,
        normalize: options.normalize as i32,
        role: options.role as i32,
        reserved: 0,
        cancellation: raw_cancellation(options.cancellation.map(|flag| &flag.handle)),
    })
}

fn raw_classify_options(options: &ClassifyOptions<'_>) -> abi::ClassifyOptions {
    abi::ClassifyOptions {
        size: size_of::<abi::ClassifyOptions>() as u64,
        truncate: options.truncate as i32,
        activation: options.activation as i32,
        cancellation: raw_cancellation(options.cancellation.map(|flag| &flag.handle)),
    }
}

/// Makes a call on this thread, or on the executor's.
pub(crate) fn run<'a>(call: &Call<'_>, arena: &'a mut ArenaHandle) -> Result<Views<'a>> {
    let (model, arena, scalar) = (call.model.raw(), arena.raw(), call.scalar);
    let executor = call.executor.map_or(std::ptr::null_mut(), ExecutorHandle::raw);
    let mut out = MaybeUninit::<abi::Encoded>::uninit();
    let encoded = out.as_mut_ptr();
    match &call.verb {
        Verb::Encode { texts, outputs, options } => {
            let (texts, options) = (raw_tape(*texts), raw_encode_options(options)?);
            // SAFETY: handles, tape and options live for the call; `&mut` makes the arena ours.
            check(|message| unsafe {
                abi::uform_text_encode(model, executor, &texts, *outputs, scalar, arena, &options, encoded, message)
            })?;
        }
        Verb::Classify { texts, options } => {
            let (texts, options) = (raw_tape(*texts), raw_classify_options(options));
            // SAFETY: as above.
            check(|message| unsafe {
                abi::uform_text_classify(model, executor, &texts, scalar, arena, &options, encoded, message)
            })?;
        }
        Verb::ClassifyPairs { first, second, options } => {
            let (first, second, options) = (raw_tape(*first), raw_tape(*second), raw_classify_options(options));
            // SAFETY: as above.
            check(|message| unsafe {
                abi::uform_text_classify_pairs(
                    model, executor, &first, &second, scalar, arena, &options, encoded, message,
                )
            })?;
        }
        Verb::Rerank { queries, documents, options } => {
            let (queries, documents, options) =
                (raw_tape(*queries), raw_tape(*documents), raw_classify_options(options));
            // SAFETY: as above.
            check(|message| unsafe {
                abi::uform_text_rerank(model, executor, &queries, &documents, scalar, arena, &options, encoded, message)
            })?;
        }
    }
    // SAFETY: a call that succeeded has written all of it; the arena is borrowed for 'a.
    Ok(unsafe { Views::new(out.assume_init()) })
}

/// A call in flight, with the borrow of its arena.
#[derive(Debug)]
pub(crate) struct InFlight<'a> {
    handle: DeferredHandle, // first: it waits, and then the flag may go
    /// What the call reads until it is done. A leak of this object leaks its share of the flag, too.
    _cancellation: Option<Arc<CancellationHandle>>,
    arena: PhantomData<&'a mut ArenaHandle>,
}

impl<'a> InFlight<'a> {
    /// Submits a call. Tapes and options are consumed when this returns; the library holds the rest.
    pub(crate) fn submit(call: &Call<'_>, arena: &'a mut ArenaHandle) -> Result<Self> {
        let (model, arena, scalar) = (call.model.raw(), arena.raw(), call.scalar);
        let executor = call.executor.map_or(std::ptr::null_mut(), ExecutorHandle::raw);
        let (handle, cancellation) = match &call.verb {
            Verb::Encode { texts, outputs, options } => {
                let (texts, raw) = (raw_tape(*texts), raw_encode_options(options)?);
                // SAFETY: handles, tape and options live for the submit; `&mut` makes the arena ours, and the flag is
                // kept beside the handle.
                let handle = DeferredHandle::init(|out, message| unsafe {
                    abi::uform_text_encode_deferred(
                        model, executor, &texts, *outputs, scalar, arena, &raw, out, message,
                    )
                })?;
                (handle, options.cancellation)
            }
            Verb::Classify { texts, options } => {
                let (texts, raw) = (raw_tape(*texts), raw_classify_options(options));
                // SAFETY: as above.
                let handle = DeferredHandle::init(|out, message| unsafe {
                    abi::uform_text_classify_deferred(model, executor, &texts, scalar, arena, &raw, out, message)
                })?;
                (handle, options.cancellation)
            }
            Verb::ClassifyPairs { first, second, options } => {
                let (first, second, raw) = (raw_tape(*first), raw_tape(*second), raw_classify_options(options));
                // SAFETY: as above.
                let handle = DeferredHandle::init(|out, message| unsafe {
                    abi::uform_text_classify_pairs_deferred(
                        model, executor, &first, &second, scalar, arena, &raw, out, message,
                    )
                })?;
                (handle, options.cancellation)
            }
            Verb::Rerank { queries, documents, options } => {
                let (queries, documents, raw) =
                    (raw_tape(*queries), raw_tape(*documents), raw_classify_options(options));
                // SAFETY: as above.
                let handle = DeferredHandle::init(|out, message| unsafe {
                    abi::uform_text_rerank_deferred(
                        model, executor, &queries, &documents, scalar, arena, &raw, out, message,
                    )
                })?;
                (handle, options.cancellation)
            }
        };
        Ok(Self { handle, _cancellation: cancellation.map(|flag| flag.handle.clone()), arena: PhantomData })
    }

    /// Waits for the result and takes it, with its pin let go: the borrow of the arena does the same.
    pub(crate) fn wait(&self) -> Result<Views<'a>> {
        let mut out = MaybeUninit::<abi::Encoded>::uninit();
        // SAFETY: the handle is alive, and one thread's, as this type isn't `Sync`; the out-parameters are ours.
        check(|message| unsafe {
            abi::uform_deferred_wait(self.handle.raw(), out.as_mut_ptr(), std::ptr::null_mut(), message)
        })?;
        // SAFETY: a wait that succeeded has written all of it; the arena is borrowed for 'a, as this object was made
        // from `&'a mut ArenaHandle`.
        Ok(unsafe { Views::new(out.assume_init()) })
    }

    pub(crate) fn ready(&self) -> bool {
        let mut ready = 0;
        // SAFETY: as above. It fails for a null alone.
        check(|message| unsafe { abi::uform_deferred_ready(self.handle.raw(), &mut ready, message) })
            .is_ok_and(|()| ready != 0)
    }

    pub(crate) fn wait_for(&self, nanoseconds: u64) -> bool {
        let mut ready = 0;
        // SAFETY: as above.
        check(|message| unsafe { abi::uform_deferred_wait_for(self.handle.raw(), nanoseconds, &mut ready, message) })
            .is_ok_and(|()| ready != 0)
    }

    pub(crate) fn cancel(&self) -> bool {
        let mut cancelled = 0;
        // SAFETY: as above.
        check(|message| unsafe { abi::uform_deferred_cancel(self.handle.raw(), &mut cancelled, message) })
            .is_ok_and(|()| cancelled != 0)
    }

    /// Runs `done` once when the result is there, on this thread or another, even if this object is leaked.
    pub(crate) fn notify<F: FnOnce() + Send + 'static>(&self, done: F) -> Result<()> {
        extern "C" fn call<F: FnOnce()>(context: *mut c_void) {
            // SAFETY: `context` is from the `Box::into_raw` below, and this is called once.
            let done = unsafe { Box::from_raw(context.cast::<F>()) };
            done(); // a panic ends the process here: it must not unwind into C
        }
        let context = Box::into_raw(Box::new(done));
        let told: Result<()> = {
            let call: extern "C" fn(*mut c_void) = call::<F>;
            let notify = |message: *mut Message| {
                // SAFETY: the handle is alive; the context is the callback's own.
                unsafe { abi::uform_deferred_notify(self.handle.raw(), call, context.cast(), message) }
            };
            check(notify)
        };
        if told.is_err() {
            // SAFETY: a refused notification is never called.
            drop(unsafe { Box::from_raw(context) });
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, Cancellation, Executor, Model, Outputs, Scalar};

    #[test]
    fn a_call_in_flight_shares_its_flag() -> Result<()> {
        let (executor, model, mut arena) =
            (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?, Arena::new()?);
        let cancellation = Cancellation::new()?;
        let options = EncodeOptions { cancellation: Some(&cancellation), ..Default::default() };
        let flag = Arc::downgrade(&cancellation.handle);
        let deferred = model.on(&executor).deferred();
        let call = deferred.text_encode_with(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena, &options)?;
        assert_eq!(flag.strong_count(), 2);
        drop(cancellation);
        assert_eq!(flag.strong_count(), 1); // the call's
        drop(call);
        assert_eq!(flag.strong_count(), 0);
        Ok(())
    }

    #[test]
    fn tapes_as_c_reads_them() {
        let view = TapeView::of(b"abcde", &[1u32, 3]).unwrap();
        let raw = raw_tape(view);
        assert_eq!((raw.size, raw.texts, raw.offset_bytes, raw.reserved), (5, 1, 4, 0));
        assert_eq!(raw.bytes, view.parts().0.as_ptr().cast());
        let raw = raw_tape(TapeView::from("abc"));
        assert!((raw.size, raw.texts) == (3, 1) && raw.offsets.is_null());
        assert_eq!(raw_tape(TapeView::default()).texts, 0);
    }

    #[test]
    fn an_empty_prompt_is_none() {
        let raw = raw_encode_options(&EncodeOptions { prompt: Some(""), ..Default::default() }).unwrap();
        assert!(raw.prompt.is_null() && raw.prompt_size == 0);
    }
}
