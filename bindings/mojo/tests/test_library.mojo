"""Where the library is looked for, what is said where it isn't, and what is freed when."""

from std.ffi import CStringSpan, OwnedDLHandle, c_char
from std.os import getenv, setenv, unsetenv
from std.testing import TestSuite, assert_equal, assert_raises, assert_true

from uform import (
    Arena,
    Cancellation,
    EncodeOptions,
    Executor,
    Library,
    Model,
    Outputs,
    Scalar,
    Status,
    Tape,
    TapeView,
    Tokenizer,
)


def _refusal(path: String) raises -> Status:
    try:
        _ = Library(path)
    except status:
        return status
    raise Error(String(path, " was loaded"))


def test_a_missing_library_is_named() raises:
    var status = _refusal("/nowhere/libuform.so")
    assert_true(status == Status.IO)
    assert_true("/nowhere/libuform.so" in status.message, status.message)


def test_another_library_is_unsupported() raises:
    var status = _refusal("libm.so.6")
    assert_true(status == Status.UNSUPPORTED)
    assert_equal(status.message, "libm.so.6: it has no function uform_abi_version, which this package calls")


def test_another_version_is_unsupported() raises:
    var path = getenv("UFORM_OTHER_VERSION")
    var status = _refusal(path)
    assert_true(status == Status.UNSUPPORTED)
    assert_equal(status.message, String(path, ": its interface has version 7, and this package needs 0"))


def test_a_library_without_a_function_is_unsupported() raises:
    var path = getenv("UFORM_ONLY_VERSION")
    var status = _refusal(path)
    assert_true(status == Status.UNSUPPORTED)
    assert_equal(
        status.message, String(path, ": it has no function uform_executor_init_ram, which this package calls")
    )


def test_what_was_looked_for_is_said() raises:
    var given = getenv("UFORM_LIBRARY")
    _ = setenv("UFORM_LIBRARY", "/nowhere/else.so")
    with assert_raises(contains="/nowhere/else.so: cannot open shared object file"):
        _ = Library()
    with assert_raises(contains="UFORM_LIBRARY names it"):
        _ = Library()
    _ = unsetenv("UFORM_LIBRARY")
    # Neither beside the sources nor where the system looks, unless someone installed it.
    try:
        _ = Library()
    except status:
        if (
            status != Status.IO
            or "UFORM_LIBRARY, which isn't set" not in status.message
            # The suite is run with a relative -I: what lies there isn't loaded, and that is said.
            or "uform/libuform.so beside the package, but not at a relative path: -I has to name" not in status.message
            or 'as in -I "$PWD"; libuform.so' not in status.message
            or "libuform.so.0 where the system looks" not in status.message
        ):
            _ = setenv("UFORM_LIBRARY", given)
            raise status
    _ = setenv("UFORM_LIBRARY", given)


# ---- The order of destruction, with a library that writes it down ---------------------------------------------------


struct Recorder:
    var handle: OwnedDLHandle
    var library: Library

    def __init__(out self, *, is_device: Bool) raises:
        self.handle = OwnedDLHandle(getenv("UFORM_RECORDER"))
        self.library = Library(getenv("UFORM_RECORDER"))
        self.handle.get_function("recorder_device")(Int32(1 if is_device else 0))
        self.handle.get_function("recorder_forget")()

    def freed(self) raises -> String:
        comptime Text = OptionalPointer[c_char, ImmUntrackedOrigin]
        return String(CStringSpan(unsafe_from_ptr=self.handle.get_function[Text]("recorder_written")().value()))


def test_a_device_arena_keeps_its_executor() raises:
    var recorder = Recorder(is_device=True)
    var executor = Executor.for_vram(recorder.library, 0)
    var arena = Arena(executor)
    _ = executor^
    assert_equal(recorder.freed(), "")
    _ = arena^
    assert_equal(recorder.freed(), "arena executor")


def test_a_host_arena_does_not_keep_its_executor() raises:
    var recorder = Recorder(is_device=False)
    var executor = Executor.for_ram(recorder.library)
    var arena = Arena(executor)
    _ = executor^
    assert_equal(recorder.freed(), "executor")
    _ = arena^
    assert_equal(recorder.freed(), "executor arena")


def test_a_bound_model_keeps_model_and_executor() raises:
    var recorder = Recorder(is_device=False)
    var bound = Model(recorder.library, "any").on(Executor.for_ram(recorder.library))
    var deferred = bound.deferred()
    _ = bound^
    assert_equal(recorder.freed(), "")
    _ = deferred^
    assert_true(recorder.freed() == "model executor" or recorder.freed() == "executor model", recorder.freed())


def test_a_tokenizer_outlives_its_model() raises:
    var recorder = Recorder(is_device=False)
    var model = Model(recorder.library, "any")
    var tokenizer = model.tokenizer()
    var copy = tokenizer.copy()
    _ = model^
    _ = tokenizer^
    assert_equal(recorder.freed(), "model")
    _ = copy^
    assert_equal(recorder.freed(), "model tokenizer")


def test_a_deferred_call_keeps_its_flag_and_its_arena() raises:
    var recorder = Recorder(is_device=False)
    var deferred = Model(recorder.library, "any").on(Executor.for_ram(recorder.library)).deferred()
    var arena = Arena(recorder.library)
    var flag = Cancellation(recorder.library)
    var options = EncodeOptions(cancellation=flag.copy())
    var call = deferred.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena, options)
    _ = flag^
    _ = options^
    _ = deferred^
    recorder.handle.get_function("recorder_forget")()
    assert_equal(recorder.freed(), "")
    _ = call^
    # The arena is named for the last time above: without the call it would have gone there.
    assert_equal(recorder.freed(), "call cancellation arena")


def test_a_failed_call_keeps_its_words_and_frees_all() raises:
    var recorder = Recorder(is_device=False)
    var deferred = Model(recorder.library, "any").on(Executor.for_ram(recorder.library)).deferred()
    var arena = Arena(recorder.library)
    var flag = Cancellation(recorder.library)
    var options = EncodeOptions(cancellation=flag^)
    var call = deferred.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena, options)
    _ = options^
    _ = deferred^
    recorder.handle.get_function("recorder_forget")()
    with assert_raises(contains="corrupt: the words of the failure"):
        _ = call^.wait()
    assert_equal(recorder.freed(), "call cancellation arena")


def test_the_library_may_go_first() raises:
    var recorder = Recorder(is_device=False)
    var second = recorder.library.copy()
    var arena = Arena(second)
    _ = second^
    recorder.library = Library(getenv("UFORM_LIBRARY"))
    assert_equal(recorder.freed(), "")
    _ = arena^
    assert_equal(recorder.freed(), "arena")


def main() raises:
    TestSuite.discover_tests[__functions_in_module()]().run()
