"""The structures, and the names of values, are those of the library and its header."""

from std.ffi import CStringSpan, OwnedDLHandle, c_char
from std.os import getenv
from std.reflection import reflect
from std.sys import size_of
from std.testing import TestSuite, assert_equal, assert_true

from uform import ArenaDescription, Outputs, Residency, Scalar, Status, TapeView
from uform.layouts import (
    _RawClassifyOptions,
    _RawEncodeOptions,
    _RawEncoded,
    _RawLoadOptions,
    _RawRaggedRows,
    _RawRows,
)


def test_sizes_are_those_of_the_header() raises:
    assert_equal(size_of[ArenaDescription](), 8)
    assert_equal(size_of[TapeView[ImmStaticOrigin, ImmStaticOrigin]](), 40)
    assert_equal(size_of[_RawRows](), 64)
    assert_equal(size_of[_RawRaggedRows](), 80)
    assert_equal(size_of[_RawEncoded](), 672)
    assert_equal(size_of[_RawLoadOptions](), 16)
    assert_equal(size_of[_RawEncodeOptions[ImmStaticOrigin]](), 64)
    assert_equal(size_of[_RawClassifyOptions](), 24)


def test_fields_lie_where_the_header_has_them() raises:
    assert_equal(reflect[_RawRows].field_offset[name="epoch"](), 8)
    assert_equal(reflect[_RawRows].field_offset[name="row_stride_bytes"](), 40)
    assert_equal(reflect[_RawRows].field_offset[name="scalar"](), 48)
    assert_equal(reflect[_RawRows].field_offset[name="device"](), 56)
    assert_equal(reflect[_RawRaggedRows].field_offset[name="offsets"](), 64)
    assert_equal(reflect[_RawEncoded].field_offset[name="probabilities"](), 64)
    assert_equal(reflect[_RawEncoded].field_offset[name="states"](), 128)
    assert_equal(reflect[_RawEncoded].field_offset[name="sparse_weights"](), 448)
    assert_equal(reflect[_RawEncoded].field_offset[name="truncated_tokens"](), 528)
    assert_equal(reflect[_RawEncoded].field_offset[name="texts"](), 656)
    comptime options = _RawEncodeOptions[ImmStaticOrigin]
    assert_equal(reflect[options].field_offset[name="tokens_per_call"](), 32)
    assert_equal(reflect[options].field_offset[name="role"](), 48)
    assert_equal(reflect[options].field_offset[name="cancellation"](), 56)
    comptime tape = TapeView[ImmStaticOrigin, ImmStaticOrigin]
    assert_equal(reflect[tape].field_offset[name="_offset_bytes"](), 32)


def _name(library: OwnedDLHandle, function: String, value: Int32) raises -> String:
    comptime Name = OptionalPointer[c_char, ImmUntrackedOrigin]
    return String(CStringSpan(unsafe_from_ptr=library.get_function[Name](function)(value).value()))


def test_names_are_the_library_s() raises:
    var library = OwnedDLHandle(getenv("UFORM_LIBRARY"))
    for code in range(-1, 12):
        assert_equal(String(Status(Int32(code)).name()), _name(library, "uform_status_name", Int32(code)))
        assert_equal(String(Scalar(Int32(code)).name()), _name(library, "uform_scalar_name", Int32(code)))
        assert_equal(Scalar(Int32(code)).bits(), Int(library.get_function[UInt64]("uform_scalar_bits")(Int32(code))))
    assert_equal(_name(library, "uform_status_name", Status.CANCELLED.code), "cancelled")
    assert_equal(_name(library, "uform_status_name", Status.CONTENDED.code), "contended")
    assert_equal(_name(library, "uform_scalar_name", Scalar.B1.value), "b1")
    assert_equal(_name(library, "uform_residency_name", Residency.VRAM.value), String(Residency.VRAM))
    assert_equal(_name(library, "uform_outputs_name", Int32(Outputs.TOKEN_VECTORS.flags)), "token_vectors")
    assert_equal(_name(library, "uform_outputs_name", Int32(Outputs.SPARSE.flags)), "sparse")


def test_sets_of_outputs() raises:
    var both = Outputs.EMBEDDINGS | Outputs.STATES
    assert_true(Outputs.STATES in both)
    assert_true(both not in Outputs.STATES)
    assert_true(both & Outputs.STATES == Outputs.STATES)


def main() raises:
    TestSuite.discover_tests[__functions_in_module()]().run()
