//! The C functions, and the only `unsafe` code: handles that free themselves, and views that carry the borrow of their
//! arena.

mod abi;
mod calls;
mod handles;
mod views;

pub(crate) use abi::Description as RawDescription;
pub(crate) use calls::{Call, InFlight, Verb, run};
pub(crate) use handles::{
    ArenaHandle, CancellationHandle, DetachedHandle, ExecutorHandle, ModelHandle, PinHandle, Properties,
    TokenizerHandle,
};
pub(crate) use views::{RaggedView, RawElement, View, Views, pin};

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr::null;

use crate::status::{Error, Result, Status};
use crate::tape::Offsets;

type Message = *const c_char;

/// What this crate was written against: `UFORM_ABI_VERSION`.
const ABI_VERSION: u32 = 0;

/// Runs a C call and turns its status and text into a [`Result`].
#[inline]
fn check(call: impl FnOnce(*mut Message) -> i32) -> Result<()> {
    let mut message = null();
    match call(&mut message) {
        0 => Ok(()),
        code => Err(refusal(code, message)),
    }
}

#[cold]
fn refusal(code: i32, message: Message) -> Error {
    let status = Status::from_code(code);
    if message.is_null() {
        return Error::new(status, "");
    }
    // SAFETY: a text of the thread that ends with a zero byte, valid until its next call, which is after this copy.
    let text = unsafe { CStr::from_ptr(message) };
    if status == Status::Contended {
        // SAFETY: the texts of this status are static in a library that is never unloaded, as it is linked.
        let text: &'static CStr = unsafe { CStr::from_ptr(message) };
        if let Ok(text) = text.to_str() {
            return Error::new(status, text);
        }
    }
    // Where memory ran out there may be none for a copy either.
    let mut copy = String::new();
    let lossy: Cow<'_, str> = match text.to_str() {
        Ok(text) => text.into(),
        Err(_) => text.to_string_lossy(),
    };
    match copy.try_reserve_exact(lossy.len()) {
        Ok(()) => {
            copy.push_str(&lossy);
            Error::new(status, copy)
        }
        Err(_) => Error::new(status, "no memory was left for the message"),
    }
}

/// A static text of the library.
fn static_text(text: Message) -> &'static str {
    // SAFETY: the interface promises static storage, and a zero byte at the end.
    unsafe { CStr::from_ptr::<'static>(text) }.to_str().unwrap_or("unknown")
}

/// "major.minor.patch" of the library that is loaded.
pub(crate) fn version() -> &'static str {
    // SAFETY: it takes nothing, and answers a static text.
    static_text(unsafe { abi::uform_version() })
}

pub(crate) fn scalar_bits(scalar: i32) -> usize {
    // SAFETY: any value may be asked.
    unsafe { abi::uform_scalar_bits(scalar) as usize }
}

/// Refuses a library of another interface than this crate's, before anything of it is used.
fn check_library() -> Result<()> {
    // SAFETY: it takes nothing.
    let found = unsafe { abi::uform_abi_version() };
    if found == ABI_VERSION { Ok(()) } else { Err(wrong_library(found, version())) }
}

#[cold]
fn wrong_library(found: u32, version: &str) -> Error {
    Error::new(
        Status::Unsupported,
        format!(
            "libuform.so: the loaded library {version} has interface {found}, and this crate, {}, was built for {ABI_VERSION}",
            env!("CARGO_PKG_VERSION")
        ),
    )
}

/// A path as C reads it.
fn path_text(path: &Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::bad("folder: a zero byte in the path"))
}

/// An integer that offsets may be of.
///
/// # Safety
/// The type has the size and alignment of `u32` or `u64`, and any bits are a value; `unsigned` says which.
#[diagnostic::on_unimplemented(
    message = "offsets are of `u32`, `u64`, `i32` or `i64`, not `{Self}`",
    label = "not an integer that offsets are of"
)]
pub(crate) unsafe trait RawOffset: Copy + 'static {
    /// The same numbers, with those below 0 wrapped to large ones.
    fn unsigned(offsets: &[Self]) -> Offsets<'_>;
}

macro_rules! offset {
    ($type:ty, $unsigned:ty, $kind:ident) => {
        // SAFETY: both are integers of one size.
        unsafe impl RawOffset for $type {
            fn unsigned(offsets: &[Self]) -> Offsets<'_> {
                // SAFETY: the same memory, read as the unsigned integer of its size.
                Offsets::$kind(unsafe {
                    std::slice::from_raw_parts(offsets.as_ptr().cast::<$unsigned>(), offsets.len())
                })
            }
        }
    };
}
offset!(u32, u32, Narrow);
offset!(i32, u32, Narrow);
offset!(u64, u64, Wide);
offset!(i64, u64, Wide);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_of_this_interface() {
        assert!(check_library().is_ok());
        assert_eq!(version(), env!("CARGO_PKG_VERSION"));
        let refused = wrong_library(7, "9.8.7");
        assert_eq!(refused, Status::Unsupported);
        for part in ["libuform.so", "9.8.7", "interface 7", "built for 0"] {
            assert!(refused.message().contains(part), "{refused}");
        }
    }

    #[test]
    fn refusals_have_a_text_whatever_happens() {
        assert_eq!(refusal(3, null()), Error::new(Status::Contended, ""));
        assert_eq!(refusal(99, c"the text".as_ptr()).to_string(), "status 99: the text");
        assert_eq!(refusal(7, c"\xff".as_ptr()).message(), "\u{FFFD}");
    }

    #[test]
    fn paths_may_be_any_bytes_but_zero() {
        assert_eq!(path_text(Path::new("a\0b")).unwrap_err(), Status::InvalidArgument);
        assert_eq!(path_text(Path::new("ä b")).unwrap().as_bytes(), "ä b".as_bytes());
    }
}
