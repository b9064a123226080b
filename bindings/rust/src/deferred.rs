//! Calls in flight.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::ffi::InFlight;
use crate::results::Encoded;
use crate::status::Result;

type WakerSlot = Arc<Mutex<Option<Waker>>>;

/// A call in flight, with its arena. Wait for it, or `.await` it on any executor.
///
/// Texts and options were consumed when it was submitted, and it holds what it needs of model and executor. Dropping it
/// waits. Leaking it (`mem::forget`) is safe: the arena then answers [`Status::Contended`](crate::Status::Contended),
/// nothing dangles, and dropping the arena waits for the call.
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model, mut arena) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let mut other = Arena::new()?; // each call in flight needs an arena of its own
/// let deferred = model.on(&executor).deferred();
/// let first = deferred.text_encode(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let second = deferred.text_encode(&["another"], Outputs::EMBEDDINGS, Scalar::F32, &mut other)?;
/// drop(executor); // the calls hold it
/// let (first, second) = (first.wait()?, second.wait()?);
/// assert_eq!(first.embeddings.unwrap().shape(), second.embeddings.unwrap().shape());
/// # Ok(()) }
/// ```
///
/// It holds the arena to the end of its scope, used or not:
///
/// ```compile_fail,E0499
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model, mut arena) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let verbs = model.on(&executor);
/// let _call = verbs.deferred().text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// verbs.text_encode(&["b"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// # Ok(()) }
/// ```
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model, mut arena) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let verbs = model.on(&executor);
/// let call = verbs.deferred().text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// drop(call);
/// verbs.text_encode(&["b"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// # Ok(()) }
/// ```
///
/// The arena can't go before it:
///
/// ```compile_fail,E0505
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model, mut arena) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let call = model.on(&executor).deferred().text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// drop(arena);
/// call.wait()?;
/// # Ok(()) }
/// ```
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model, mut arena) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let call = model.on(&executor).deferred().text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// call.wait()?;
/// drop(arena);
/// # Ok(()) }
/// ```
///
/// It is waited for once:
///
/// ```compile_fail,E0382
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (executor, model, mut arena) = (Executor::for_ram(1)?, Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let call = model.on(&executor).deferred().text_encode(&["a"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// call.wait()?;
/// call.wait()?;
/// # Ok(()) }
/// ```
///
/// It may be sent to another thread, but not shared with one:
///
/// ```compile_fail,E0277
/// fn is_shared<T: Sync>() {}
/// is_shared::<uform::Deferred<'static>>();
/// ```
///
/// ```
/// fn is_sent<T: Send>() {}
/// is_sent::<uform::Deferred<'static>>();
/// ```
#[must_use = "dropping a call in flight waits for it"]
#[doc(alias = "uform_deferred_t")]
#[doc(alias = "uform_deferred_free")]
pub struct Deferred<'a> {
    pub(crate) call: InFlight<'a>,
    waker: Option<WakerSlot>,
}

impl<'a> Deferred<'a> {
    pub(crate) fn new(call: InFlight<'a>) -> Self {
        Self { call, waker: None }
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// Those of the verb, and [`Status::Cancelled`](crate::Status::Cancelled).
    #[doc(alias = "uform_deferred_wait")]
    pub fn wait(self) -> Result<Encoded<'a>> {
        Ok(self.call.wait()?.into_encoded())
    }

    /// Whether [`Deferred::wait`] would answer at once.
    #[doc(alias = "uform_deferred_ready")]
    pub fn ready(&self) -> bool {
        self.call.ready()
    }

    /// Waits at most so long, up to 95 years; then does as [`Deferred::ready`].
    #[doc(alias = "uform_deferred_wait_for")]
    pub fn wait_for(&self, time: Duration) -> bool {
        self.call.wait_for(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Takes the call back. `true` if it never runs: [`Deferred::wait`] then answers
    /// [`Status::Cancelled`](crate::Status::Cancelled), and the arena wasn't touched. `false` if it has begun.
    #[doc(alias = "uform_deferred_cancel")]
    pub fn cancel(&self) -> bool {
        self.call.cancel()
    }
}

// The handle within waits and frees itself. This stands on the type with the lifetime: without it a call that is never
// used again wouldn't hold its borrow to the end of the scope, and the next call would compile only to be `Contended`.
impl Drop for Deferred<'_> {
    fn drop(&mut self) {}
}

/// Answers what [`Deferred::wait`] does, once. The waker is called on the executor's own thread; a panic in it ends the
/// process. The first poll that must wait makes one allocation, or two.
impl<'a> Future for Deferred<'a> {
    type Output = Result<Encoded<'a>>;

    #[doc(alias = "uform_deferred_notify")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match &this.waker {
            _ if this.call.ready() => {}
            Some(slot) => {
                let waker = context.waker().clone(); // a foreign clone, so not under the lock
                let old = slot.lock().unwrap_or_else(PoisonError::into_inner).replace(waker);
                drop(old);
            }
            None => {
                let slot: WakerSlot = Arc::new(Mutex::new(Some(context.waker().clone())));
                this.waker = Some(slot.clone());
                // Shared with the notification, so that a leaked future leaves nothing that dangles.
                this.call.notify(move || {
                    let waker = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                    if let Some(waker) = waker {
                        waker.wake();
                    }
                })?;
            }
        }
        // Asked after the waker is there: a result that came in between is seen here.
        if !this.call.ready() {
            return Poll::Pending;
        }
        Poll::Ready(this.call.wait().map(|views| views.into_encoded()))
    }
}

impl fmt::Debug for Deferred<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Deferred").field("ready", &self.ready()).finish_non_exhaustive()
    }
}
