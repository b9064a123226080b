//! What one number of a row is, and the types that rows are read as.

use crate::ffi::{self, RawElement};

/// What one element of a row is. Calls write the first five; offsets and ids are `U32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[non_exhaustive]
#[doc(alias = "uform_scalar_t")]
pub enum Scalar {
    /// IEEE 754 binary32: [`f32`].
    #[default]
    F32,
    /// IEEE 754 binary16: [`F16`].
    F16,
    /// The upper half of a binary32: [`Bf16`].
    Bf16,
    /// 127 × the vector at unit length, rounded to nearest even: [`i8`].
    I8,
    /// 1 where an element is above 0, the first in the most significant bit of a byte: [`B1x8`].
    B1,
    /// [`u8`].
    U8,
    /// [`u32`].
    U32,
    /// [`u64`].
    U64,
    /// The number of a scalar that only a later library has.
    Unknown(i32),
}

impl Scalar {
    pub(crate) const fn from_code(code: i32) -> Self {
        match code {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Bf16,
            3 => Self::I8,
            4 => Self::B1,
            5 => Self::U8,
            6 => Self::U32,
            7 => Self::U64,
            code => Self::Unknown(code),
        }
    }

    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Bf16 => 2,
            Self::I8 => 3,
            Self::B1 => 4,
            Self::U8 => 5,
            Self::U32 => 6,
            Self::U64 => 7,
            Self::Unknown(code) => code,
        }
    }

    /// Bits of one; 0 of an unknown one.
    #[doc(alias = "uform_scalar_bits")]
    pub fn bits(self) -> usize {
        ffi::scalar_bits(self.code())
    }
}

/// A type that rows are read as: `f32`, [`F16`], [`Bf16`], `i8`, [`B1x8`], `u8`, `u32`, `u64`, each for the
/// [`Scalar`] of its name. Sealed.
///
/// ```
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let encoded = model.text_encode(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let values = encoded.embeddings.unwrap().values::<f32>()?;
/// # assert_eq!(values.len(), 48);
/// # Ok(()) }
/// ```
///
/// Another type is refused by the compiler, the wrong one of them by the call:
///
/// ```compile_fail,E0277
/// # fn main() -> uform::Result<()> {
/// # use uform::*;
/// # let (model, mut arena) = (Model::load("../../tests/data/tiny")?, Arena::new()?);
/// let encoded = model.text_encode(&["a text"], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
/// let values = encoded.embeddings.unwrap().values::<f64>()?;
/// # Ok(()) }
/// ```
#[expect(private_bounds, reason = "sealed")]
pub trait Element: RawElement {
    /// The scalar that this type reads.
    const SCALAR: Scalar;
}

impl<T: RawElement> Element for T {
    const SCALAR: Scalar = Scalar::from_code(T::CODE);
}

/// An IEEE 754 binary16 number, as its bits. Any crate's half-precision type can be made of [`F16::to_bits`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(transparent)]
pub struct F16(u16);

impl F16 {
    /// The number with these bits.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The same number; every one of them has an `f32`.
    pub fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let (exponent, fraction) = (u32::from((self.0 >> 10) & 31), u32::from(self.0 & 1023));
        match exponent {
            // A subnormal is fraction × 2^-24, and both are exact.
            0 => f32::from_bits((fraction as f32 * f32::from_bits(0x3380_0000)).to_bits() | sign),
            31 => f32::from_bits(sign | 0x7F80_0000 | (fraction << 13)),
            _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
        }
    }
}

impl From<F16> for f32 {
    fn from(half: F16) -> Self {
        half.to_f32()
    }
}

/// The upper half of an `f32`, as its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(transparent)]
pub struct Bf16(u16);

impl Bf16 {
    /// The number with these bits.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The same number; every one of them has an `f32`.
    pub const fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
}

impl From<Bf16> for f32 {
    fn from(half: Bf16) -> Self {
        half.to_f32()
    }
}

/// Eight columns of one bit each, the first in the most significant bit.
///
/// A row of `columns` bits has `columns / 8` of them, rounded up; the bits that fill up the last one are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(transparent)]
pub struct B1x8(u8);

impl B1x8 {
    /// The eight columns of a byte.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The byte.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Column 0 to 7 of the eight, counted from the most significant bit.
    ///
    /// # Panics
    /// For a column of 8 or more.
    pub const fn get(self, column: usize) -> bool {
        assert!(column < 8, "eight columns");
        (self.0 >> (7 - column)) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_there_and_back() {
        let bits = [32, 16, 16, 8, 1, 8, 32, 64];
        for code in 0..8 {
            assert_eq!(Scalar::from_code(code).code(), code);
            assert_eq!(Scalar::from_code(code).bits(), bits[code as usize]);
        }
        assert_eq!(Scalar::from_code(8), Scalar::Unknown(8));
        assert_eq!(Scalar::Unknown(8).bits(), 0);
    }

    #[test]
    fn halves_are_what_their_bits_say() {
        // From the tables of IEEE 754: the bits, and the number.
        let table: [(u16, f32); 9] = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0400, 6.103_515_6e-5),
            (0x03FF, 6.097_555e-5),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
        ];
        for (bits, number) in table {
            assert_eq!(F16::from_bits(bits).to_f32().to_bits(), number.to_bits(), "{bits:#06x}");
        }
        assert_eq!(F16::from_bits(0x7C00).to_f32(), f32::INFINITY);
        assert_eq!(f32::from(F16::from_bits(0xFC00)), f32::NEG_INFINITY);
        assert!(F16::from_bits(0x7E00).to_f32().is_nan());
        assert_eq!(Bf16::from_bits(0x3F80).to_f32(), 1.0);
        assert_eq!(f32::from(Bf16::from_bits(0xC0A0)), -5.0);
        assert!((0..8).all(|column| B1x8::from_bits(0b1000_0010).get(column) == (column == 0 || column == 6)));
    }
}
