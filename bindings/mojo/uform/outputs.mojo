"""Which outputs a call writes."""


@fieldwise_init
struct Outputs(Equatable, ImplicitlyCopyable):
    """A set of outputs: join with `|`. All are computed in one pass, each only if asked for."""

    var flags: UInt32
    """The `uform_outputs_t`."""
    comptime EMBEDDINGS = Outputs(1)
    """One vector a text."""
    comptime STATES = Outputs(2)
    """The last layer's state of every token."""
    comptime TOKEN_VECTORS = Outputs(4)
    """One projected vector a token, for late interaction."""
    comptime PROBABILITIES = Outputs(8)
    """Of labels, or of pairs."""
    comptime SPARSE = Outputs(16)
    """Weights over the vocabulary."""

    def __or__(self, other: Self) -> Self:
        """Asks for both.

        Args:
            other: The other outputs.

        Returns:
            The union.
        """
        return Self(self.flags | other.flags)

    def __and__(self, other: Self) -> Self:
        """What both ask for.

        Args:
            other: The other outputs.

        Returns:
            The intersection.
        """
        return Self(self.flags & other.flags)

    def __contains__(self, all: Self) -> Bool:
        """Whether every one of `all` is in the set.

        Args:
            all: The outputs looked for.

        Returns:
            Whether they are all there.
        """
        return self.flags & all.flags == all.flags
