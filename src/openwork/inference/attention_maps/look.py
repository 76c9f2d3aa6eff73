"""All that is calculated of one sentence's attention, as the command, the server and Python give it."""

from dataclasses import dataclass
from typing import Any

from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.attribution import MOST_EXPLAINED
from openwork.inference.attention_maps.capture import MOST_PIECES, SentenceAttention, capture
from openwork.inference.attention_maps.deletion import Reasons, reasons
from openwork.inference.attention_maps.facts import HeadFacts, head_facts
from openwork.inference.attention_maps.flow import ThroughLayers, through_layers
from openwork.inference.attention_maps.removal import HeadName, check_removable, translate_without
from openwork.inference.translation import Translation


@dataclass(frozen=True)
class Question:
    """What is to be looked at.

    Attributes:
        text: the source.
        translation: of it; None: the bundle's own best.
        without: a head that is removed for a second translation.
        why: also what explains the translation.
        position: with `why`, also of this target position alone.
    """

    text: str
    translation: str | None = None
    without: HeadName | None = None
    why: bool = False
    position: int | None = None


@dataclass(frozen=True, eq=False)
class LookInside:
    """The attention of a sentence, and what else a question asked for."""

    attention: SentenceAttention
    facts: list[HeadFacts]
    through: ThroughLayers | None
    removed: HeadName | None = None
    changed: Translation | None = None
    reasons: Reasons | None = None

    def to_json(self) -> dict[str, Any]:
        """That of `SentenceAttention`, with `facts`, `rollout` (null for an encoder without self-attention), and what
        was asked for: `without`, `attributions`, `positionAttributions`, `deletion`."""
        values = {
            **self.attention.to_json(),
            "facts": [one.to_json() for one in self.facts],
            "rollout": None if self.through is None else self.through.to_json(),
        }
        if self.removed is not None and self.changed is not None:
            changed = {"translation": self.changed.text, "logProbability": self.changed.log_probability}
            values["without"] = {**vars(self.removed), **changed}
        return values | (self.reasons.to_json() if self.reasons is not None else {})


def look(bundle: Bundle, question: Question) -> LookInside:
    """The answer to a question. UsageError and OpenworkError as of `capture`; IndexError for no such position."""
    if question.without is not None:
        check_removable(bundle, question.without)
    most = MOST_EXPLAINED if question.why else MOST_PIECES
    found = capture(bundle, question.text, question.translation, most)
    changed = None if question.without is None else translate_without(bundle, question.text, question.without)
    why = reasons(bundle, found, question.position) if question.why else None
    return LookInside(found, head_facts(found.maps), through_layers(found), question.without, changed, why)
