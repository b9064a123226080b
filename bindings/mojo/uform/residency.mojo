"""Which memory an arena's outputs live in."""


@fieldwise_init
struct Residency(Equatable, ImplicitlyCopyable, Writable):
    """A kind of memory."""

    var value: Int32
    """The `uform_residency_t`."""
    comptime RAM = Residency(0)
    """Host pages."""
    comptime VRAM = Residency(1)
    """The memory of one GPU."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes "ram" or "vram".

        Args:
            writer: Where to.
        """
        writer.write("ram" if self.value == 0 else "vram")


@fieldwise_init
struct ArenaDescription(ImplicitlyCopyable):
    """Where an arena's outputs live. It is `uform_arena_description_t`, 8 bytes."""

    var residency: Residency
    """`RAM` for host pages, `VRAM` for one device's memory."""
    var device: Int32
    """The device ordinal, as `Executor.for_vram` takes it, or -1 for host pages."""
