"""What one element of a row is."""


@fieldwise_init
struct Scalar(Equatable, ImplicitlyCopyable, Writable):
    """What one element of a row is. Verbs write the first five; offsets and ids are `U32`.

    The name hides the built-in alias `Scalar[dtype]` where it is imported, by `import *` too: `SIMD[dtype, 1]` is the
    same type, and `Float32` and its like are unharmed.
    """

    var value: Int32
    """The `uform_scalar_t`."""
    comptime F32 = Scalar(0)
    """`DType.float32`."""
    comptime F16 = Scalar(1)
    """`DType.float16`."""
    comptime BF16 = Scalar(2)
    """`DType.bfloat16`: the upper half of a float."""
    comptime I8 = Scalar(3)
    """`DType.int8`: 127 × the vector at unit length, rounded to nearest even."""
    comptime B1 = Scalar(4)
    """Bits: 1 where an element is above 0, the first in the most significant bit of a byte. No `DType`: see
    `Rows.bits`."""
    comptime U8 = Scalar(5)
    """`DType.uint8`."""
    comptime U32 = Scalar(6)
    """`DType.uint32`."""
    comptime U64 = Scalar(7)
    """`DType.uint64`."""

    @staticmethod
    def of[dtype: DType]() -> Self:
        """The scalar that Mojo calls `dtype`. One that no row can hold doesn't compile.

        Parameters:
            dtype: Mojo's name.

        Returns:
            The scalar.
        """
        comptime if dtype == DType.float32:
            return Self.F32
        elif dtype == DType.float16:
            return Self.F16
        elif dtype == DType.bfloat16:
            return Self.BF16
        elif dtype == DType.int8:
            return Self.I8
        elif dtype == DType.uint8:
            return Self.U8
        elif dtype == DType.uint32:
            return Self.U32
        elif dtype == DType.uint64:
            return Self.U64
        else:
            comptime assert False, "rows hold float32, float16, bfloat16, int8, uint8, uint32 or uint64"

    def bits(self) -> Int:
        """The size of one element.

        Returns:
            Bits; 0 for a value that names no scalar.
        """
        if self.value == 0 or self.value == 6:
            return 32
        if self.value == 1 or self.value == 2:
            return 16
        if self.value == 3 or self.value == 5:
            return 8
        if self.value == 4:
            return 1
        if self.value == 7:
            return 64
        return 0

    def name(self) -> StaticString:
        """The name, as `uform_scalar_name` spells it.

        Returns:
            "f32", "f16", …; "unknown" for a value that names none.
        """
        if self.value == 0:
            return "f32"
        if self.value == 1:
            return "f16"
        if self.value == 2:
            return "bf16"
        if self.value == 3:
            return "i8"
        if self.value == 4:
            return "b1"
        if self.value == 5:
            return "u8"
        if self.value == 6:
            return "u32"
        if self.value == 7:
            return "u64"
        return "unknown"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: Where to.
        """
        writer.write(self.name())
