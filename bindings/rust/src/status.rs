//! Why a call was refused: a status, and a text.

use std::borrow::Cow;
use std::{error, fmt};

/// How a call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
#[doc(alias = "uform_status_t")]
pub enum Status {
    /// Bad input.
    InvalidArgument,
    /// Host access to device memory, or a failure of the device.
    Device,
    /// The arena serves another call, or a [`Pinned`](crate::Pinned) result holds it.
    Contended,
    /// Memory, address space, or a limit that the caller set.
    OutOfMemory,
    /// A checkpoint, output or scalar that this build can't serve, or a library of another interface.
    Unsupported,
    /// A damaged file, or weights and results that aren't numbers.
    Corrupt,
    /// A file that can't be opened, mapped or read.
    Io,
    /// The caller asked the call to stop.
    Cancelled,
    /// The number of a status that only a later library has.
    Unknown(i32),
}

impl Status {
    pub(crate) const fn from_code(code: i32) -> Self {
        match code {
            1 => Self::InvalidArgument,
            2 => Self::Device,
            3 => Self::Contended,
            4 => Self::OutOfMemory,
            5 => Self::Unsupported,
            6 => Self::Corrupt,
            7 => Self::Io,
            8 => Self::Cancelled,
            code => Self::Unknown(code),
        }
    }

    /// The number that every language's binding has for it.
    pub const fn code(self) -> i32 {
        match self {
            Self::InvalidArgument => 1,
            Self::Device => 2,
            Self::Contended => 3,
            Self::OutOfMemory => 4,
            Self::Unsupported => 5,
            Self::Corrupt => 6,
            Self::Io => 7,
            Self::Cancelled => 8,
            Self::Unknown(code) => code,
        }
    }
}

/// The name as every language's binding spells it: `invalid_argument`, `contended`, …
impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::InvalidArgument => "invalid_argument",
            Self::Device => "device",
            Self::Contended => "contended",
            Self::OutOfMemory => "out_of_memory",
            Self::Unsupported => "unsupported",
            Self::Corrupt => "corrupt",
            Self::Io => "io",
            Self::Cancelled => "cancelled",
            Self::Unknown(code) => return write!(out, "status {code}"),
        };
        out.pad(name)
    }
}

/// A [`Status`], and a text that names the argument, file, tensor or limit.
///
/// It compares with a status: `error == Status::Contended`. Of `Contended` the text is static, and making one
/// allocates nothing; others own their text.
///
/// ```
/// use uform::{Model, Status};
/// let error = Model::load("no/such/folder").unwrap_err();
/// assert_eq!(error, Status::Io);
/// assert!(error.to_string().contains("no/such/folder"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    status: Status,
    message: Cow<'static, str>,
}

/// What every call that can fail answers.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    #[cold]
    pub(crate) fn new(status: Status, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into() }
    }

    #[cold]
    pub(crate) fn bad(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Status::InvalidArgument, message)
    }

    /// The reason as a value to match on.
    pub const fn status(&self) -> Status {
        self.status
    }

    /// The text alone.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl PartialEq<Status> for Error {
    fn eq(&self, status: &Status) -> bool {
        self.status == *status
    }
}

impl PartialEq<Error> for Status {
    fn eq(&self, error: &Error) -> bool {
        *self == error.status
    }
}

/// `io: the text`.
impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.status, self.message)
    }
}

impl error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_there_and_back() {
        for code in 1..=8 {
            assert_eq!(Status::from_code(code).code(), code);
            assert!(!matches!(Status::from_code(code), Status::Unknown(_)));
        }
        assert_eq!(Status::from_code(9), Status::Unknown(9));
        assert_eq!(Status::Unknown(9).code(), 9);
        assert_eq!(Status::Unknown(9).to_string(), "status 9");
    }

    #[test]
    fn an_error_is_an_error() {
        let error = Error::new(Status::Io, "the text");
        let plain: &dyn error::Error = &error;
        assert_eq!(plain.to_string(), "io: the text");
        assert_eq!(error, Status::Io);
        assert_eq!(Status::Io, error);
        assert_ne!(error, Status::Device);
        fn is_portable<T: Send + Sync + 'static>(_: &T) {}
        is_portable(&error);
    }
}
