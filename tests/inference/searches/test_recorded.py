"""The recorded search of a bundle: its own translations, with scores that a forced re-scoring has too."""

import re
from dataclasses import replace
from typing import Any

import pytest
import torch

from inference.attention_maps.bundles import CONVOLUTIONS, bundle_of
from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.decoding.rescore import score_tokens
from openwork.decoding.search_tree import SearchTree
from openwork.inference.scorer import Scorer
from openwork.inference.searches.recorded import record_search, recorded
from openwork.inference.settings import settings_over
from openwork.inference.translator import BatchTranslator
from openwork.models.families import model_settings

TEXTS = ("a b c", "d e f é 中", "我 爱 猫")
LAYERS = {"width": 8, "heads": 2, "feedforward_width": 8, "layers": 1}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"beam": 5, "best": 5},
    {"beam": 1},
    {"beam": 1, "no_repeat": 1},
    {"beam": 4, "best": 3, "coverage_penalty": 0.3},
    {"beam": 3, "best": 3, "required": ["b"], "minimum_length": 4},
    {"beam": 4, "best": 2, "prefix": "c", "minimum_bayes_risk": "chrf"},
]


@pytest.fixture(scope="module")
def bundles() -> dict[str, Bundle]:
    return {
        "transformer": bundle_of(),
        "convolutions": bundle_of(**CONVOLUTIONS),
        "bytes": bundle_of("byte-level"),
        "words": bundle_of("words"),
    }


@pytest.mark.parametrize("kind", ["transformer", "convolutions", "bytes"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_is_the_bundles_own_search(bundles: dict[str, Bundle], kind: str, options: dict[str, Any]) -> None:
    bundle = bundles[kind]
    translator = BatchTranslator.of(bundle, settings_over(bundle.settings.decoding, options))
    for text in TEXTS:
        found = record_search(bundle, text, options)
        own = translator.translate([text])[0]
        assert [one.text for one in found.translations] == [one.text for one in own]
        assert [one.score for one in found.translations] == pytest.approx([one.score for one in own], abs=1e-6)
        if "minimum_bayes_risk" not in options:  # which ranks them by another measure
            best = found.tree.finished[: len(own)]
            assert [one.text for one in best] == [one.text for one in own]
            assert [one.final for one in best] == pytest.approx([one.score for one in own], abs=1e-6)
            assert [one.score for one in best] == pytest.approx([one.log_probability for one in own], abs=1e-6)
        check_sums(found.tree)


def check_sums(tree: SearchTree) -> None:
    """Each score is the sum along its path, and the final score follows from the columns beside it."""
    for one in tree.finished:
        along = [tree.nodes[node].log_probability for node in tree.path(one.node)]
        assert one.score == pytest.approx(sum(along), abs=1e-9) and one.length == len(along) - 1
        assert one.final == pytest.approx(one.score / one.penalty + one.credit, abs=1e-9)
    assert [one.rank for one in tree.finished] == list(range(1, len(tree.finished) + 1))
    finals = [one.final for one in tree.finished]
    assert finals == sorted(finals, reverse=True)


@pytest.mark.parametrize("kind", ["transformer", "convolutions", "bytes", "words"])
def test_forced_rescoring_gives_the_same_numbers(bundles: dict[str, Bundle], kind: str) -> None:
    """Piece by piece along each path; of words, whose text is cut in one way only, by `openwork score`'s scorer too."""
    bundle, compared = bundles[kind], 0
    target, scorer = bundle.tokenizers.target, Scorer(bundle.model, bundle.tokenizers)
    translator = BatchTranslator.of(bundle, settings_over(bundle.settings.decoding, {"beam": 8, "best": 8}))
    translator.engine.is_prepared = False  # prepared, it rounds other sums
    for text in TEXTS:
        found = recorded(translator, text)
        ((ids, spans),) = bundle.tokenizers.encode_sources([text])
        source = torch.tensor([[*ids, target.end_id]])
        for row, one in zip(found.tree.finished[:8], found.translations, strict=True):
            with torch.inference_mode():
                (terms,) = score_tokens(
                    bundle.model, source, torch.tensor([source.shape[1]]), [one.pieces], ended=one.finished
                ).tolist()
            along = [found.tree.nodes[node].log_probability for node in found.tree.path(row.node)][1:]
            assert along == pytest.approx(terms, abs=1e-5)
            if one.finished and tuple(bundle.tokenizers.encode_target(one.text, spans)) == one.pieces:
                (scored,) = scorer.score([(text, one.text)])
                assert row.score == pytest.approx(scored.total, abs=1e-5)
                compared += 1
    assert compared or kind != "words"


def test_pieces_are_readable() -> None:
    """Parts of characters are bytes between ⟨ and ⟩; no sign of a byte-level vocabulary and no U+FFFD is left."""
    for kind in ("byte-level", "byte-pair", "unigram"):
        bundle = bundle_of(kind)
        pieces = {node.piece for text in TEXTS for node in record_search(bundle, text, {"beam": 16}).tree.nodes}
        assert not any("Ġ" in piece or "\ufffd" in piece or "<0x" in piece for piece in pieces)
        assert any(re.fullmatch("⟨[0-9A-F]{2}( [0-9A-F]{2})*⟩", piece) for piece in pieces)
        assert "<s>" in pieces


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (" ", {}, "U050"), ("a " * 3000, {}, "U052"), ("a", {"required": ["b " * 200]}, "U051"),
        ("a", {"samples": 2}, "U157"), ("a", {"beam": 4, "groups": 2}, "U157"),
    ],
)  # fmt: skip
def test_what_is_refused(bundles: dict[str, Bundle], text: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        record_search(bundles["transformer"], text, options)
    assert refused.value.code == code


def test_other_models_do_not_search(bundles: dict[str, Bundle]) -> None:
    own = bundles["transformer"]
    for task, command in (("classify", "openwork classify"), ("fill", "openwork fill")):
        settings = own.settings.model_copy(
            update={"model": model_settings({"kind": "encoder", "task": task, **LAYERS})}
        )
        with pytest.raises(UsageError, match="only the search of a translator can be shown") as refused:
            record_search(replace(own, settings=settings), "a b")
        assert refused.value.code == "U156" and command in refused.value.why
    with pytest.raises(UsageError) as refused:
        record_search(bundle_of(kind="decoder", **LAYERS), "a b")
    assert refused.value.code == "U156" and "openwork complete" in refused.value.why
