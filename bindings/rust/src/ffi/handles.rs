//! Handles of the C interface that free themselves.

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};
use std::slice;

use super::abi::{self, Description};
use super::{Message, check, check_library, path_text};
use crate::status::{Error, Result, Status};

macro_rules! handle {
    ($(#[$text:meta])* $name:ident, $free:ident) => {
        $(#[$text])*
        #[derive(Debug)]
        pub(crate) struct $name(NonNull<c_void>);

        // SAFETY: no handle belongs to a thread: it may be used and freed from any, by one at a time.
        unsafe impl Send for $name {}

        impl $name {
            pub(super) fn init(call: impl FnOnce(*mut *mut c_void, *mut Message) -> i32) -> Result<Self> {
                let mut out = null_mut();
                check(|message| call(&mut out, message))?;
                NonNull::new(out).map(Self).ok_or_else(|| Error::new(Status::Unsupported, "success without a handle"))
            }

            pub(super) fn raw(&self) -> *mut c_void {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the handle is alive, and this is its end.
                unsafe { abi::$free(self.raw()) }
            }
        }
    };
}

handle!(/** `uform_executor_t` */ ExecutorHandle, uform_executor_free);
handle!(/** `uform_model_t` */ ModelHandle, uform_model_free);
handle!(/** `uform_tokenizer_t` */ TokenizerHandle, uform_tokenizer_free);
handle!(/** `uform_arena_t` */ ArenaHandle, uform_arena_free);
handle!(/** `uform_detached_t` */ DetachedHandle, uform_detached_free);
handle!(/** `uform_deferred_t`: freeing it waits for the call */ DeferredHandle, uform_deferred_free);
handle!(/** `uform_cancellation_t` */ CancellationHandle, uform_cancellation_free);
handle!(/** `uform_pin_t` */ PinHandle, uform_rows_unpin);

// SAFETY: an executor takes calls from any thread, any number at a time.
unsafe impl Sync for ExecutorHandle {}
// SAFETY: a loaded model never changes, and takes calls from any thread.
unsafe impl Sync for ModelHandle {}
// SAFETY: the same for a tokenizer.
unsafe impl Sync for TokenizerHandle {}
// SAFETY: `&ArenaHandle` reaches `describe`, `capacity` and `limit` alone, which any thread may call, also while a call
// that was leaked writes.
unsafe impl Sync for ArenaHandle {}
// SAFETY: `&DetachedHandle` reaches `describe` and `capacity` alone, which any thread may call.
unsafe impl Sync for DetachedHandle {}
// SAFETY: the flag is set and taken back from any thread.
unsafe impl Sync for CancellationHandle {}
// SAFETY: nothing reads a pin; it ends from any thread.
unsafe impl Sync for PinHandle {}

/// Reads what a function writes: a property of something that lives.
fn read<T: Default>(call: impl FnOnce(*mut T, *mut Message) -> i32) -> Result<T> {
    let mut out = T::default();
    check(|message| call(&mut out, message))?;
    Ok(out)
}

impl Default for Description {
    fn default() -> Self {
        Self { residency: 0, device: -1 }
    }
}

impl ExecutorHandle {
    pub(crate) fn for_ram(threads: usize) -> Result<Self> {
        check_library()?;
        // SAFETY: the out-parameters are ours.
        Self::init(|out, message| unsafe { abi::uform_executor_init_ram(threads, out, message) })
    }

    pub(crate) fn for_vram(device: u32) -> Result<Self> {
        check_library()?;
        // SAFETY: the out-parameters are ours.
        Self::init(|out, message| unsafe { abi::uform_executor_init_vram(device, out, message) })
    }

    pub(crate) fn describe(&self) -> Result<Description> {
        // SAFETY: the handle is alive; the out-parameters are ours.
        read(|out, message| unsafe { abi::uform_executor_describe(self.raw(), out, message) })
    }

    pub(crate) fn threads(&self) -> Result<usize> {
        // SAFETY: as above.
        read(|out, message| unsafe { abi::uform_executor_threads(self.raw(), out, message) })
            .map(|count| count as usize)
    }
}

/// What a model says of itself.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    pub(crate) dimensions: u64,
    pub(crate) hidden_size: u64,
    pub(crate) layers: u64,
    pub(crate) max_sequence_length: u64,
    pub(crate) outputs: u32,
    pub(crate) normalizes: i32,
    pub(crate) similarity: i32,
    pub(crate) instruction_set: i32,
    pub(crate) labels: Vec<String>,
    pub(crate) prompts: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

type Count = unsafe extern "C" fn(*mut c_void, *mut u64, *mut Message) -> i32;
type Item = unsafe extern "C" fn(*mut c_void, u64, *mut *const c_char, *mut u64, *mut Message) -> i32;

impl ModelHandle {
    pub(crate) fn load(folder: &Path, compute: i32, instruction_set: i32) -> Result<Self> {
        check_library()?;
        let folder = path_text(folder)?;
        let options = abi::LoadOptions { size: size_of::<abi::LoadOptions>() as u64, compute, instruction_set };
        // SAFETY: path and options live for the call; the out-parameters are ours.
        Self::init(|out, message| unsafe { abi::uform_model_load(folder.as_ptr(), &options, out, message) })
    }

    pub(crate) fn properties(&self) -> Result<Properties> {
        let model = self.raw();
        // SAFETY: the handle is alive; the out-parameters are ours.
        unsafe {
            Ok(Properties {
                dimensions: read(|out, message| abi::uform_model_dimensions(model, out, message))?,
                hidden_size: read(|out, message| abi::uform_model_hidden_size(model, out, message))?,
                layers: read(|out, message| abi::uform_model_layers(model, out, message))?,
                max_sequence_length: read(|out, message| abi::uform_model_max_sequence_length(model, out, message))?,
                outputs: read(|out, message| abi::uform_model_outputs(model, out, message))?,
                normalizes: read(|out, message| abi::uform_model_normalizes(model, out, message))?,
                similarity: read(|out, message| abi::uform_model_similarity(model, out, message))?,
                instruction_set: read(|out, message| abi::uform_model_instruction_set(model, out, message))?,
                labels: self.texts(abi::uform_model_labels, abi::uform_model_label)?,
                prompts: self.texts(abi::uform_model_prompts, abi::uform_model_prompt)?,
                warnings: self.texts(abi::uform_model_warnings, abi::uform_model_warning)?,
            })
        }
    }

    fn texts(&self, count: Count, item: Item) -> Result<Vec<String>> {
        // SAFETY: the handle is alive; the out-parameters are ours.
        let count: u64 = read(|out, message| unsafe { count(self.raw(), out, message) })?;
        let mut list = Vec::new();
        for index in 0..count {
            let (mut text, mut size) = (null(), 0);
            // SAFETY: as above.
            check(|message| unsafe { item(self.raw(), index, &mut text, &mut size, message) })?;
            // SAFETY: the text lives as long as the model, and is copied here.
            list.push(String::from_utf8_lossy(unsafe { bytes(text, size) }).into_owned());
        }
        Ok(list)
    }

    pub(crate) fn tokenizer(&self) -> Result<TokenizerHandle> {
        // SAFETY: the handle is alive; the out-parameters are ours.
        TokenizerHandle::init(|out, message| unsafe { abi::uform_model_tokenizer(self.raw(), out, message) })
    }
}

/// A slice of what C hands out, where a null pointer isn't one, even of nothing.
///
/// # Safety
/// `text` is null, or of `size` bytes that live and stay as they are for `'a`.
unsafe fn bytes<'a>(text: *const c_char, size: u64) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(text.cast(), size as usize) }
}

impl TokenizerHandle {
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        check_library()?;
        let folder = path_text(folder)?;
        // SAFETY: the path lives for the call; the out-parameters are ours.
        Self::init(|out, message| unsafe { abi::uform_tokenizer_load(folder.as_ptr(), out, message) })
    }

    /// Writes as many ids as fit, if all do; answers how many there are.
    pub(crate) fn encode(&self, text: &str, ids: &mut [u32]) -> (u64, Result<()>) {
        let mut count = 0;
        // SAFETY: the handle is alive, text and ids live for the call, and at most as many ids as fit are written.
        let done = check(|message| unsafe {
            let (first, size) = (text.as_ptr().cast(), text.len() as u64);
            abi::uform_tokenizer_encode(
                self.raw(),
                first,
                size,
                ids.as_mut_ptr(),
                ids.len() as u64,
                &mut count,
                message,
            )
        });
        (count, done)
    }

    pub(crate) fn count(&self, text: &str) -> Result<usize> {
        // SAFETY: the handle is alive, the text lives for the call, and the out-parameters are ours.
        read(|out: *mut u64, message| unsafe {
            abi::uform_tokenizer_count(self.raw(), text.as_ptr().cast(), text.len() as u64, out, message)
        })
        .map(|count| count as usize)
    }

    /// Writes the text and a zero byte, if both fit; answers the bytes without that.
    pub(crate) fn decode(&self, ids: &[u32], skip_special: bool, text: &mut [u8]) -> (u64, Result<()>) {
        let mut size = 0;
        // SAFETY: the handle is alive, ids and text live for the call, and no more bytes than fit are written.
        let done = check(|message| unsafe {
            let (to, capacity) = (text.as_mut_ptr().cast(), text.len() as u64);
            let (first, count) = (ids.as_ptr(), ids.len() as u64);
            abi::uform_tokenizer_decode(self.raw(), first, count, skip_special.into(), to, capacity, &mut size, message)
        });
        (size, done)
    }

    pub(crate) fn token(&self, id: u32) -> Result<Option<&[u8]>> {
        let (mut text, mut size) = (null(), 0);
        // SAFETY: the handle is alive; the out-parameters are ours.
        check(|message| unsafe { abi::uform_tokenizer_token(self.raw(), id, &mut text, &mut size, message) })?;
        // SAFETY: the text lives as long as the tokenizer.
        Ok((!text.is_null()).then(|| unsafe { bytes(text, size) }))
    }

    pub(crate) fn id(&self, text: &str) -> Result<Option<u32>> {
        // SAFETY: the handle is alive, the text lives for the call, and the out-parameters are ours.
        read(|out: *mut i64, message| unsafe {
            abi::uform_tokenizer_id(self.raw(), text.as_ptr().cast(), text.len() as u64, out, message)
        })
        .map(|id| u32::try_from(id).ok())
    }

    pub(crate) fn vocabulary_size(&self) -> Result<usize> {
        // SAFETY: the handle is alive; the out-parameters are ours.
        read(|out: *mut u64, message| unsafe { abi::uform_tokenizer_vocabulary_size(self.raw(), out, message) })
            .map(|size| size as usize)
    }

    pub(crate) fn special_tokens(&self) -> Result<usize> {
        // SAFETY: the handle is alive; the out-parameters are ours.
        read(|out: *mut u64, message| unsafe { abi::uform_tokenizer_special_tokens(self.raw(), out, message) })
            .map(|count| count as usize)
    }
}

impl ArenaHandle {
    pub(crate) fn new(executor: Option<&ExecutorHandle>) -> Result<Self> {
        check_library()?;
        let executor = executor.map_or(null_mut(), ExecutorHandle::raw);
        // SAFETY: `executor` is null, or alive for the call; the out-parameters are ours.
        Self::init(|out, message| unsafe { abi::uform_arena_init(executor, out, message) })
    }

    pub(crate) fn describe(&self) -> Result<Description> {
        // SAFETY: the handle is alive; the out-parameters are ours.
        read(|out, message| unsafe { abi::uform_arena_describe(self.raw(), out, message) })
    }

    pub(crate) fn capacity(&self) -> Result<u64> {
        // SAFETY: as above.
        read(|out, message| unsafe { abi::uform_arena_capacity(self.raw(), out, message) })
    }

    pub(crate) fn limit(&self) -> Result<u64> {
        // SAFETY: as above.
        read(|out, message| unsafe { abi::uform_arena_limit(self.raw(), out, message) })
    }

    pub(crate) fn set_limit(&mut self, bytes: u64) -> Result<()> {
        // SAFETY: the handle is alive.
        check(|message| unsafe { abi::uform_arena_set_limit(self.raw(), bytes, message) })
    }

    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<()> {
        // SAFETY: the handle is alive, and `&mut` makes this the one thread that changes it.
        check(|message| unsafe { abi::uform_arena_reserve(self.raw(), bytes, message) })
    }

    pub(crate) fn trim(&mut self) -> Result<()> {
        // SAFETY: as above.
        check(|message| unsafe { abi::uform_arena_trim(self.raw(), message) })
    }

    pub(crate) fn detach(&mut self) -> Result<DetachedHandle> {
        // SAFETY: as above; the out-parameters are ours.
        DetachedHandle::init(|out, message| unsafe { abi::uform_arena_detach(self.raw(), out, message) })
    }
}

impl DetachedHandle {
    pub(crate) fn describe(&self) -> Result<Description> {
        // SAFETY: the handle is alive; the out-parameters are ours.
        read(|out, message| unsafe { abi::uform_detached_describe(self.raw(), out, message) })
    }

    pub(crate) fn capacity(&self) -> Result<u64> {
        // SAFETY: as above.
        read(|out, message| unsafe { abi::uform_detached_capacity(self.raw(), out, message) })
    }
}

impl CancellationHandle {
    pub(crate) fn new() -> Result<Self> {
        check_library()?;
        // SAFETY: the out-parameters are ours.
        Self::init(|out, message| unsafe { abi::uform_cancellation_init(out, message) })
    }

    pub(crate) fn request(&self) -> Result<()> {
        // SAFETY: the handle is alive, and any thread may ask.
        check(|message| unsafe { abi::uform_cancellation_request(self.raw(), message) })
    }

    pub(crate) fn reset(&self) -> Result<()> {
        // SAFETY: as above.
        check(|message| unsafe { abi::uform_cancellation_reset(self.raw(), message) })
    }
}
