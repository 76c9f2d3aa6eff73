"""The attention of a sentence, a picture or a sound and what is written of it: as numbers, as text, as a picture."""

import os
import shutil
from dataclasses import dataclass
from typing import Any

from openwork.base.messages import catalogue, find_language
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.asking import AttentionFindings, AttentionQuestion, ask_attention
from openwork.inference.attention_maps.capture import SentenceAttention
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.files import page
from openwork.inference.attention_maps.maps import LayerMap
from openwork.inference.attention_maps.text import attention_text
from openwork.inspection.page import in_a_frame


@dataclass(frozen=True, eq=False, repr=False)
class AttentionReport:
    """The weights of a sentence: `print` writes the mean of the cross-attention, and a notebook shows the page.

    `languages` are those of source and target; empty where the bundle does not say them.
    """

    findings: AttentionFindings
    languages: tuple[str, str]

    @classmethod
    def of(cls, bundle: Bundle, source: Any, translation: str | None) -> "AttentionReport":
        """Of a source and a translation, or of the bundle's own; errors as of `ask_attention`."""
        settings = bundle.settings
        languages = (settings.source_language or "", settings.target_language or "")
        return cls(ask_attention(bundle, source, AttentionQuestion(translation)), languages)

    @property
    def sentence(self) -> SentenceAttention:
        """The pieces of both sides, with their characters and log-probabilities."""
        return self.findings.sentence

    @property
    def maps(self) -> tuple[LayerMap, ...]:
        """One for each attention: `kind` ("encoder", "decoder", "cross"), `layer` from 0, `weights` (head, query, key).

        A query of the last two kinds is the step that reads a target piece and predicts the next.
        """
        return self.sentence.maps

    @property
    def translation(self) -> str:
        return self.sentence.translation

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; weights in 16 bits, so that none differs by more than 7.7e-6."""
        return self.findings.to_json()

    def _repr_html_(self) -> str:
        return in_a_frame(page(self.findings, self.languages, find_language(os.environ)))

    def __str__(self) -> str:
        translate = catalogue(find_language(os.environ)).translate
        chosen = ChosenMap.of(self.sentence, "cross")
        return attention_text(self.sentence, chosen, shutil.get_terminal_size().columns, translate)

    def __repr__(self) -> str:
        return f"AttentionReport({self.sentence.source!r} → {self.sentence.translation!r}, {len(self.maps)} maps)"
