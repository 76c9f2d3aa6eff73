"""A bundle's own search of one sentence, recorded as a tree."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openwork.base.errors import UsageError
from openwork.base.tasks import command_for
from openwork.bundles.bundle import Bundle
from openwork.decoding.scoring import GivenUp, nothing_given_up
from openwork.decoding.search_recorder import SearchRecorder
from openwork.decoding.search_tree import SearchTree
from openwork.inference.attention_maps.pieces import label
from openwork.inference.explainable import check_text, check_translation
from openwork.inference.settings import settings_over
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator


@dataclass(frozen=True)
class RecordedSearch:
    """The tree of a search, and the translations that it gave, best first; at most `best` of the settings."""

    tree: SearchTree
    translations: tuple[Translation, ...]


def record_search(bundle: Bundle, text: str, options: Mapping[str, Any] | None = None) -> RecordedSearch:
    """The search of one text by the bundle's own settings, with `options` (keys of `[decoding]`) over them.

    UsageError for a bundle or settings without a beam search, for a text without visible characters or too long for
    the model, and for one that has no translation at all.
    """
    check_translates(bundle)
    settings = settings_over(bundle.settings.decoding, dict(options or {}))
    return recorded(BatchTranslator.of(bundle, settings), text)


def check_translates(bundle: Bundle) -> None:
    """UsageError for a bundle that is no translator of texts."""
    if command_for(bundle.settings) != "openwork translate" or bundle.model.continues:
        command = "openwork complete" if bundle.model.continues else command_for(bundle.settings)
        raise UsageError(
            "only the search of a translator can be shown",
            why=f"this bundle is for {command}",
            hint="give a bundle that translates texts",
            code="U156",
        )


def recorded(translator: BatchTranslator, text: str, given_up: GivenUp = nothing_given_up) -> RecordedSearch:
    """The translator's search of one text; errors as of `record_search`."""
    settings = translator.decoding
    if settings.samples or settings.groups > 1:
        raise UsageError(
            "these settings do not search with one beam",
            why="samples are drawn one by one" if settings.samples else "each of the groups has a beam of its own",
            hint="--beam 4 searches instead" if settings.samples else "set decoding.groups = 1",
            code="U157",
        )
    check_text(text)
    recorder = SearchRecorder()
    (translations,) = translator.translate([text], given_up=given_up, recorder=recorder)
    if translations[0].cut or not recorder.has_searched:
        check_translation(translations[0])
    tokenizers = translator.tokenizers
    ((_, spans),) = tokenizers.encode_sources([text])

    def piece(token: int) -> str:
        return label(tokenizers.target.piece(token))

    tree = recorder.tree(text, piece, lambda tokens: tokenizers.decode_target(tokens, spans).text)
    return RecordedSearch(tree, tuple(translations))
