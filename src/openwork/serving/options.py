"""What is wanted of a translation, as the processes of a server tell each other. No torch here."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class AttentionOptions:
    """What is wanted besides the weights.

    Attributes:
        translation: one to look at in place of the best one; None: none.
        why: which pieces of the source it comes from, by several methods.
        without: a head, such as "cross:0:3", for another translation without it; empty: none.
    """

    translation: str | None = None
    why: bool = False
    without: str = ""


@dataclass(frozen=True)
class TreeOptions:
    """A recorded search: so many hypotheses are kept; 0: as many as the bundle says."""

    beam: int = 0


@dataclass(frozen=True)
class TraceOptions:
    """Steps of a calculation: all of this layer, counted from 0; None: the results of each part of all layers."""

    layer: int | None = None


@dataclass(frozen=True)
class TranslationOptions:
    """What is wanted of texts that are translated together.

    Attributes:
        best: so many translations of each.
        stream: its parts, as a greedy search finds them.
        align: the alignment of the best one.
        explain: the probability of each of its pieces.
        attention: the weights of all its heads; None: not wanted.
        tree: in place of a translation, its beam search as a tree; None: not wanted.
        trace: in place of a translation, the steps by which it is calculated; None: not wanted.
        next_pieces: so many of the likeliest pieces after the first `position` pieces of it.
    """

    best: int = 1
    stream: bool = False
    align: bool = False
    explain: bool = False
    attention: AttentionOptions | None = None
    tree: TreeOptions | None = None
    trace: TraceOptions | None = None
    position: int = 0
    next_pieces: int = 0


@dataclass(frozen=True)
class TextConstraints:
    """How the translation of a text begins, and what it must and must not contain."""

    prefix: str = ""
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def with_required(self, texts: tuple[str, ...]) -> "TextConstraints":
        return replace(self, required=(*self.required, *texts)) if texts else self


BEST = TranslationOptions()
UNBOUND = TextConstraints()
