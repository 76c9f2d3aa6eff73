"""What can be asked about the attention of a translation, and what is found."""

from dataclasses import dataclass
from typing import Any

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.attribution import MOST_EXPLAINED
from openwork.inference.attention_maps.capture import MOST_PIECES, SentenceAttention, capture
from openwork.inference.attention_maps.deletion import Reasons, reasons
from openwork.inference.attention_maps.facts import HeadFacts, head_facts
from openwork.inference.attention_maps.flow import ThroughLayers, through_layers
from openwork.inference.attention_maps.forced import Between, go_on
from openwork.inference.attention_maps.removal import HeadName, translate_without
from openwork.inference.attention_maps.sources import capture_source
from openwork.inference.translation import Translation


@dataclass(frozen=True)
class AttentionQuestion:
    """What is wanted of a text besides its weights.

    Attributes:
        translation: what the model shall have written; None: the translation that it writes.
        why: which pieces of the source the translation comes from, by several methods.
        flow: the maximum flow through all layers, which takes longer than all but `why`.
        without: a head, for the translation that the model writes without it.
    """

    translation: Translation | str | None = None
    why: bool = False
    flow: bool = False
    without: HeadName | None = None


@dataclass(frozen=True, eq=False)
class AttentionFindings:
    """The weights of a sentence, what each head does, and what else was asked; None where it was not.

    `through` is also None for an encoder without weights between pieces.
    """

    sentence: SentenceAttention
    facts: list[HeadFacts]
    through: ThroughLayers | None
    reasons: Reasons | None
    without: tuple[HeadName, Translation] | None

    def to_json(self) -> dict[str, Any]:
        """What /v1/attention answers (`serving/inspecting/attention_route.py`)."""
        written = self.sentence.to_json()
        written["facts"] = [one.to_json() for one in self.facts]
        written["through_layers"] = None if self.through is None else self.through.to_json()
        if self.reasons is not None:
            written |= self.reasons.to_json()
        if self.without is not None:
            head, other = self.without
            written["without"] = {"head": str(head), "translation": other.text}
        return written


def ask_attention(
    bundle: Bundle, source: Any, question: AttentionQuestion, between: Between = go_on
) -> AttentionFindings:
    """What a question finds.

    Args:
        bundle: a translator, or a model that writes the text of pictures or sounds.
        source: one line; a picture or a sound as `capture_source` takes it.
        question: what is wanted.
        between: called before each pass of the model that `why` needs.

    UsageError for a model without attention or without the head, and for a text that is too long; of a picture or a
    sound also for `why` and `without`, which take the pieces of a text.
    """
    if bundle.tokenizers.encoder.numbers is not None:
        return _of_numbers(bundle, source, question)
    found = capture(bundle, source, question.translation, MOST_EXPLAINED if question.why else MOST_PIECES)
    return AttentionFindings(
        sentence=found,
        facts=head_facts(found.maps),
        through=through_layers(found, with_flow=question.flow),
        reasons=reasons(bundle, found, between) if question.why else None,
        without=(question.without, translate_without(bundle, source, question.without)) if question.without else None,
    )


def _of_numbers(bundle: Bundle, source: Any, question: AttentionQuestion) -> AttentionFindings:
    if question.why or question.without is not None:
        raise UsageError(
            "what a text comes from, and what it is without a head, is found for sources that are texts",
            why="the methods take away pieces of a text, which pictures and sounds do not have",
            hint="leave --why and --without out",
            code="U165",
        )
    assert not isinstance(question.translation, Translation), "only the server has one, which reads texts"
    found = capture_source(bundle, source, question.translation)
    return AttentionFindings(found, head_facts(found.maps), None, None, None)
