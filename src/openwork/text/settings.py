"""The settings of the section [text] of a run file."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import option
from openwork.base.limits import LINES, DropRate
from openwork.text.pieces.alphabet import COMMON
from openwork.text.pieces.kinds import KINDS, TARGET_KINDS, WHOLE_KINDS
from openwork.text.tokenizer import SMALLEST_VOCABULARY

if TYPE_CHECKING:
    KindName = TargetKindName = str
else:
    KindName = Literal[WHOLE_KINDS]  # the tables are the one place that names them
    TargetKindName = Literal[tuple(TARGET_KINDS)]

Times = Annotated[int, Field(ge=1, le=LINES)]
_SAMPLED_KINDS = [name for name, kind in KINDS.items() if kind.has_many_ways]


class TextSettings(Settings):
    """How text is cut into pieces."""

    kind: KindName = option(
        "byte-pair",
        "what the pieces are; words and characters are for comparison, labels for sequences of names, "
        "the others for use",
    )
    vocabulary_size: int = option(
        8000, "most pieces a vocabulary may have; a small corpus gives fewer", ge=SMALLEST_VOCABULARY, le=1_000_000
    )
    shared: bool = option(True, "one vocabulary for both languages (three-way tying needs this)")
    target_kind: TargetKindName | None = option(
        None,
        "what the target's pieces are, where they are others; needs text.shared = false; "
        "labels: each word of a target is the name of a class or tag; positions: numbers of the source's words",
    )
    minimum_frequency: Times = option(
        2, "times that a pair of pieces, or a word, must occur to become a piece; unigram does not use it"
    )
    character_frequency: int = option(
        COMMON,
        "times that a character must occur to become a piece of its own; rarer ones are written as bytes",
        ge=1,
        le=1_000_000,
    )
    source_file: str | None = option(
        None,
        "a tokenizer's file to use instead of learning one, for both sides if text.shared: "
        "tokenizer.json, vocab.txt, vocab.json with merges.txt, or a SentencePiece .model",
    )
    target_file: str | None = option(None, "the same for the target; needs text.shared = false")
    placeholders: int = option(0, "pieces kept for what must not be translated, such as %s or <b>", ge=0, le=1000)
    placeholder_share: float = option(
        0.0,
        "with text.placeholders: share of the training pairs that get one put in, so that they are learnt",
        ge=0,
        le=1,
    )
    sampling: DropRate = option(
        0.0,
        "how much the cutting of training text varies: the probability that a merge is left out "
        "(BPE-dropout, 0.1 is usual), or for unigram the power of a way's probability (alpha); 0: it does not vary",
    )
    samplings: int = option(
        4, "with text.sampling: versions of the training text that are kept; epochs take turns", ge=1, le=100
    )

    @model_validator(mode="after")
    def _rules_hold(self) -> "TextSettings":
        for key in ("target_file", "target_kind"):
            if getattr(self, key) is not None and self.shared:
                raise RuleError(
                    f"text.{key} gives the target a vocabulary of its own, which text.shared = true does not allow",
                    hint=f"set text.shared = false, or leave text.{key} out",
                    code="C057",
                )
        if self.target_kind is not None and self.target_file is not None:
            raise RuleError(
                "text.target_kind and text.target_file both say what the target's pieces are",
                hint="leave one of them out",
                code="C080",
            )
        has_file = self.source_file is not None or self.target_file is not None
        for key in ("sampling", "placeholders"):
            if has_file and getattr(self, key) > 0:
                raise RuleError(
                    f"a tokenizer from a file allows no text.{key}",
                    hint=f"set text.{key} = 0, or leave the file out",
                    code="C058",
                )
        if self.has_labels and (self.sampling > 0 or self.placeholders > 0):
            raise RuleError(
                "labels are neither sampled nor do they hold placeholders",
                hint="set text.sampling = 0 and text.placeholders = 0",
                code="C081",
            )
        if self.sampling > 0 and self.kind not in _SAMPLED_KINDS:
            raise RuleError(
                f"text.kind {self.kind!r} knows one way to cut a text, which text.sampling = {self.sampling} cannot "
                "vary",
                hint=f"set text.sampling = 0, or text.kind to one of {', '.join(_SAMPLED_KINDS)}",
                code="C060",
            )
        return self

    @property
    def has_labels(self) -> bool:
        """Whether targets are labels and no text."""
        return self.target_kind in ("labels", "positions")
