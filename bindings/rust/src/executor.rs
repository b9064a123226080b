//! Where calls compute.

use std::fmt;

use crate::arena::ArenaDescription;
use crate::ffi::ExecutorHandle;
use crate::status::Result;

/// Where calls compute: host threads, or one device. Calls on one executor queue, one at a time, from any threads.
///
/// Dropping it drops one reference: arenas of a device and calls in flight hold their own.
#[doc(alias = "uform_executor_t")]
#[doc(alias = "uform_executor_free")]
pub struct Executor {
    pub(crate) handle: ExecutorHandle,
}

impl Executor {
    /// Makes an executor of host threads: `threads` at work in a call, the caller's among them; 0: as many as the
    /// process may use.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory), also where the system gives no more threads; the most is
    /// 65,536. [`Status::Unsupported`](crate::Status::Unsupported) for a library of another interface.
    #[doc(alias = "uform_executor_init_ram")]
    pub fn for_ram(threads: usize) -> Result<Self> {
        Ok(Self { handle: ExecutorHandle::for_ram(threads)? })
    }

    /// Makes an executor of the device of that ordinal, as the CUDA driver counts them, which it loads. In this version
    /// its arenas work, and the verbs answer [`Status::Unsupported`](crate::Status::Unsupported) on it.
    ///
    /// # Errors
    /// [`Status::Unsupported`](crate::Status::Unsupported), with the reason: no driver, no such device, or one without
    /// stream-ordered memory pools. [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    /// [`Status::Device`](crate::Status::Device).
    #[doc(alias = "uform_executor_init_vram")]
    pub fn for_vram(device: u32) -> Result<Self> {
        Ok(Self { handle: ExecutorHandle::for_vram(device)? })
    }

    /// Where its arenas lie.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_executor_describe")]
    pub fn describe(&self) -> Result<ArenaDescription> {
        self.handle.describe().map(ArenaDescription::from)
    }

    /// Threads at work in a call, the caller's among them; 0 for a device.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_executor_threads")]
    pub fn threads(&self) -> Result<usize> {
        self.handle.threads()
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = out.debug_struct("Executor");
        if let Ok(description) = self.describe() {
            fields.field("residency", &description.residency).field("device", &description.device);
        }
        if let Ok(threads) = self.threads() {
            fields.field("threads", &threads);
        }
        fields.finish_non_exhaustive()
    }
}
