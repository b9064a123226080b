//! What a call is asked for.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of outputs, joined with `|`. All are computed in one pass.
///
/// ```
/// use uform::Outputs;
/// let both = Outputs::EMBEDDINGS | Outputs::STATES;
/// assert!(both.contains(Outputs::STATES) && !both.contains(Outputs::SPARSE));
/// assert_eq!(format!("{both:?}"), "EMBEDDINGS | STATES");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "uform_outputs_t")]
pub struct Outputs(u32);

impl Outputs {
    /// One vector a text.
    pub const EMBEDDINGS: Self = Self(1);
    /// The last layer's state of every token.
    pub const STATES: Self = Self(2);
    /// One projected vector a token, for late interaction.
    pub const TOKEN_VECTORS: Self = Self(4);
    /// Of labels, or of pairs.
    pub const PROBABILITIES: Self = Self(8);
    /// Weights over the vocabulary.
    pub const SPARSE: Self = Self(16);

    const NAMES: [(&'static str, Self); 5] = [
        ("EMBEDDINGS", Self::EMBEDDINGS),
        ("STATES", Self::STATES),
        ("TOKEN_VECTORS", Self::TOKEN_VECTORS),
        ("PROBABILITIES", Self::PROBABILITIES),
        ("SPARSE", Self::SPARSE),
    ];

    /// None of them.
    pub const fn empty() -> Self {
        Self(0)
    }

    /// The set with these bits, known or not: a call refuses those that it doesn't know.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// One bit an output.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `others` are among them.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Outputs {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Outputs {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Outputs {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut separator = "";
        for (name, one) in Self::NAMES {
            if self.contains(one) {
                write!(out, "{separator}{name}")?;
                rest &= !one.0;
                separator = " | ";
            }
        }
        match (rest, separator) {
            (0, "") => out.write_str("(none)"),
            (0, _) => Ok(()),
            _ => write!(out, "{separator}{rest:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let mut all = Outputs::empty();
        assert!(all.is_empty() && format!("{all:?}") == "(none)");
        for (_, one) in Outputs::NAMES {
            assert_eq!(one.bits().count_ones(), 1);
            assert!((all & one).is_empty(), "two of one bit");
            all |= one;
        }
        assert_eq!(all, Outputs::from_bits(31));
        assert_eq!(format!("{:?}", Outputs::from_bits(65)), "EMBEDDINGS | 0x40");
    }
}
