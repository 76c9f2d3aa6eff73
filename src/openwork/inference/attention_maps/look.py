"""All that is calculated of one sentence's attention, as the command, the server and Python give it."""

from dataclasses import dataclass
from typing import Any

from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.attribution import MOST_EXPLAINED
from openwork.inference.attention_maps.capture import LONGEST, AttentionCapture, SentenceAttention, own_translation
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


@dataclass(frozen=True)
class RemovedHead:
    """The model's own translation with all heads, and that without one."""

    head: HeadName
    original: str
    changed: Translation

    def to_json(self) -> dict[str, Any]:
        """`logProbability` (nats) is that of `translation`, by the model without the head."""
        found = {"translation": self.changed.text, "logProbability": self.changed.log_probability}
        return {**vars(self.head), "original": self.original, **found}


@dataclass(frozen=True, eq=False)
class LookInside:
    """The attention of a sentence, and what else a question asked for."""

    attention: SentenceAttention
    facts: list[HeadFacts]
    through: ThroughLayers | None
    removed: RemovedHead | None = None
    reasons: Reasons | None = None

    def to_json(self) -> dict[str, Any]:
        """That of `SentenceAttention`, with `facts`, `rollout` (null for an encoder without self-attention), and what
        was asked for: `without`, `attributions`, `positionAttributions`, `deletion`."""
        values = {
            **self.attention.to_json(),
            "facts": [one.to_json() for one in self.facts],
            "rollout": None if self.through is None else self.through.to_json(),
        }
        if self.removed is not None:
            values["without"] = self.removed.to_json()
        return values | (self.reasons.to_json() if self.reasons is not None else {})


def look(bundle: Bundle, question: Question, own: Translation | None = None) -> LookInside:
    """The answer to a question. UsageError as of `attention_of`; OpenworkError for no such position.

    `own`: the bundle's own translation, where it is known already.
    """
    if question.without is not None:
        check_removable(bundle, question.without)
    capture = AttentionCapture(bundle, MOST_EXPLAINED if question.why else LONGEST)
    if own is None and (question.translation is None or question.without is not None):
        own = own_translation(bundle, question.text)
    if question.translation is None:
        assert own is not None
        found = capture.of(question.text, own.text, own.pieces)
    else:
        found = capture.of(question.text, question.translation)
    removed = None
    if question.without is not None and own is not None:
        removed = RemovedHead(question.without, own.text, translate_without(bundle, question.text, question.without))
    why = reasons(bundle, found, question.position) if question.why else None
    through = through_layers(found, with_flow=question.why)
    return LookInside(found, head_facts(found.layers), through, removed, why)
