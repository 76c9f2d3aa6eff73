"""Validation and bundles follow the target language, as the settings say it or as the corpus is known to have it."""

import dataclasses
from pathlib import Path

import pytest

from openwork.base.config import Layer
from openwork.data.filters import FilterReport
from openwork.data.records import Pair
from openwork.data.store import write_store
from openwork.metrics.translation import chrf
from openwork.systems.bundle import Bundle
from openwork.systems.bundle_settings import settings_of_run
from openwork.systems.card import write_card
from openwork.systems.languages import corpus_languages, languages_of
from openwork.systems.run_file import RunSettings, resolve_run
from openwork.systems.validate import Validator
from openwork.training.progress import Progress, Validation


def run(**data: object) -> RunSettings:
    return resolve_run(Layer({"data": data}))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"corpus": "tatoeba-en-zh"}, ("en", "zh")),
        ({"corpus": "tatoeba-en-zh", "target_language": "zh-Hant"}, ("en", "zh-Hant")),
        ({"corpus": "copy"}, (None, None)),
        ({"source": "a", "target": "b"}, (None, None)),
        ({"source": "a", "target": "b", "target_language": "ja"}, (None, "ja")),
        ({"mix": [{"corpus": "tatoeba-en-zh"}, {"corpus": "python-docs-en-zh"}]}, ("en", "zh")),
        ({"mix": [{"corpus": "tatoeba-en-zh"}, {"corpus": "tatoeba-en-de"}]}, (None, None)),
        ({"mix": [{"corpus": "tatoeba-en-zh"}, {"source": "a", "target": "b"}]}, (None, None)),
    ],
)
def test_languages_of_a_run_and_its_bundle(data: dict[str, object], expected: tuple[str | None, str | None]):
    settings = run(**data)
    assert languages_of(settings.data) == expected
    bundle = settings_of_run(settings)
    assert (bundle.source_language, bundle.target_language) == expected


def test_languages_of_a_corpus():
    assert corpus_languages(["multi30k-en-de"]) == ("en", "de")
    assert corpus_languages([None]) == corpus_languages(["dates"]) == (None, None)


def validator(bundle: Bundle, folder: Path, language: str | None) -> Validator:
    pairs = [Pair("a b", "我爱北京。"), Pair("c", "天气好。")]
    rows = [(bundle.tokenizers.source.encode(pair.source), [5, 6]) for pair in pairs]
    size = bundle.tokenizers.source.vocabulary_size
    store = write_store(folder / "store", iter(rows), vocabulary_size=size, fingerprint="x")
    return Validator(bundle.model, bundle.tokenizers, store, pairs, "float32", language)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "tokenisation"), [(None, "zh"), ("zh", "zh"), ("de", "13a")])
def test_validation_scores_by_the_target_language(
    tiny_bundle: Bundle, tmp_path: Path, language: str | None, tokenisation: str
):
    watcher = validator(tiny_bundle, tmp_path, language)
    found = watcher.validate(3)
    assert f"tok:{tokenisation}|" in found.signature
    hypotheses = watcher.translator.best(["a b", "c"])
    assert found.chrf == chrf(hypotheses, ["我爱北京。", "天气好。"]).value
    assert found.figure("chrf") == found.chrf


def test_the_card_names_both_scores_and_how_they_were_made():
    validation = Validation(1, 0.5, 1.6, bleu=12.0, chrf=34.56, signature="tok:zh|version:x")
    text = write_card(run(corpus="copy"), FilterReport(kept=1), validation, Progress(step=1))
    assert "BLEU 12.00 (greedy search; tok:zh|version:x)" in text and "chrF2 34.56" in text


def test_progress_is_read_back_with_and_without_the_newer_figures():
    now = Validation(1, 0.5, 1.6, bleu=1.0, chrf=2.0, signature="x")
    progress = Progress(validations=[now, dataclasses.replace(now, step=2, chrf=3.0)])
    assert Progress.from_json(progress.to_json()) == progress
    best = progress.best("chrf")
    assert best is not None and best.step == 2
    before = {key: value for key, value in vars(now).items() if key not in ("chrf", "signature")}
    assert Progress.from_json({"step": 1, "validations": [before]}).validations[0].chrf is None
