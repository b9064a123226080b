//! Texts to ids, and back.

use std::borrow::Cow;
use std::path::Path;

use crate::ffi::TokenizerHandle;
use crate::status::{Error, Result, Status};

/// Turns texts into ids. From any threads; it may outlive the [`Model`](crate::Model) it is of.
///
/// ```
/// # fn main() -> uform::Result<()> {
/// use uform::Tokenizer;
/// let tokenizer = Tokenizer::load("../../tests/data/tiny")?;
/// let ids = tokenizer.encode("the model")?;
/// assert_eq!(ids.len(), tokenizer.count("the model")?);
/// assert_eq!(tokenizer.decode(&ids, true)?, "the model");
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[doc(alias = "uform_tokenizer_t")]
#[doc(alias = "uform_tokenizer_free")]
pub struct Tokenizer {
    pub(crate) handle: TokenizerHandle,
}

impl Tokenizer {
    /// Loads tokenizer.json of a folder, or vocab.txt with tokenizer_config.json where there is none.
    ///
    /// # Errors
    /// [`Status::Io`], [`Status::Corrupt`], [`Status::Unsupported`], [`Status::OutOfMemory`], each with the file;
    /// [`Status::InvalidArgument`] for an empty path, or one with a zero byte.
    #[doc(alias = "uform_tokenizer_load")]
    pub fn load(folder: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { handle: TokenizerHandle::load(folder.as_ref())? })
    }

    /// The ids of a text with the special tokens around it, not cut.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`].
    #[doc(alias = "uform_tokenizer_encode")]
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        // Most texts have fewer tokens than bytes; where one hasn't, the answer says how many.
        let mut capacity = text.len().saturating_add(self.special_tokens()?).max(1);
        loop {
            let mut ids = zeroed::<u32>(capacity)?;
            match self.handle.encode(text, &mut ids) {
                (count, Ok(())) => {
                    ids.truncate(count as usize);
                    return Ok(ids);
                }
                (count, Err(error)) if error == Status::InvalidArgument && count > capacity as u64 => {
                    capacity = count as usize;
                }
                (_, Err(error)) => return Err(error),
            }
        }
    }

    /// How many ids [`Tokenizer::encode`] would give.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`].
    #[doc(alias = "uform_tokenizer_count")]
    pub fn count(&self, text: &str) -> Result<usize> {
        self.handle.count(text)
    }

    /// The text that ids stand for, as the file's decoder makes it; ids that no token has are left out, and so are
    /// special tokens, if asked for. What isn't UTF-8 becomes U+FFFD.
    ///
    /// # Errors
    /// [`Status::Unsupported`] for a decoder that isn't served; [`Status::OutOfMemory`].
    #[doc(alias = "uform_tokenizer_decode")]
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        let mut capacity = ids.len().saturating_mul(8).saturating_add(1);
        loop {
            let mut text = zeroed::<u8>(capacity)?;
            match self.handle.decode(ids, skip_special, &mut text) {
                (size, Ok(())) => {
                    text.truncate(size as usize);
                    return Ok(String::from_utf8(text)
                        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()));
                }
                (size, Err(error)) if error == Status::InvalidArgument && size >= capacity as u64 => {
                    capacity = size as usize + 1;
                }
                (_, Err(error)) => return Err(error),
            }
        }
    }

    /// The text of a token; `None` where no token has the id.
    #[doc(alias = "uform_tokenizer_token")]
    pub fn token(&self, id: u32) -> Option<Cow<'_, str>> {
        self.handle.token(id).ok().flatten().map(String::from_utf8_lossy)
    }

    /// The id of the token that is spelt so. It looks at all of them: for once a load.
    #[doc(alias = "uform_tokenizer_id")]
    pub fn id(&self, token: &str) -> Option<u32> {
        self.handle.id(token).ok().flatten()
    }

    /// The greatest id + 1.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_tokenizer_vocabulary_size")]
    pub fn vocabulary_size(&self) -> Result<usize> {
        self.handle.vocabulary_size()
    }

    /// The length of an empty text, in tokens.
    ///
    /// # Errors
    /// None that is known.
    #[doc(alias = "uform_tokenizer_special_tokens")]
    pub fn special_tokens(&self) -> Result<usize> {
        self.handle.special_tokens()
    }
}

fn zeroed<T: Clone + Default>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| Error::new(Status::OutOfMemory, "no memory for the ids or the text"))?;
    list.resize(count, T::default());
    Ok(list)
}
