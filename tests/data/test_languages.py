"""Validation and bundles follow the target language, as the settings say it or as the corpus is known to have it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from openwork.base.config import Layer, read_run_file
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.data.filters import FilterReport
from openwork.data.records import Pair
from openwork.data.sources import corpus_languages, languages_of
from openwork.data.store import write_store
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.metrics.translation import chrf
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.finish import write_card
from openwork.runs.folder import settings_of_run
from openwork.runs.languages import with_languages
from openwork.runs.train import train_bundle
from openwork.runs.validation import TranslationScoring, Validator
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
        ({"source": "x/train.en.gz", "target": "x/train.zh-CN.gz"}, ("en", "zh-CN")),
        ({"source": "train.en", "target": "train.de", "source_language": "nl"}, ("nl", "de")),
        ({"source": "train.en", "target": "train.txt"}, (None, None)),
        ({"source": "train.en", "target": "more.en"}, (None, None)),
        ({"mix": [{"corpus": "tatoeba-en-zh"}, {"source": "train.en", "target": "train.zh"}]}, ("en", "zh")),
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
    translator = BatchTranslator(bundle.model, bundle.tokenizers, DecodingSettings(beam=1))
    return Validator(bundle.model, translator, store, pairs, "float32", TranslationScoring(translator, language))


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


def looked(data: dict[str, object], before: RunSettings | None = None) -> tuple[str | None, str | None]:
    said: list[str] = []
    found = with_languages(run(**data), before, said.append).data
    assert bool(said) == (before is None and found != run(**data).data)
    return found.source_language, found.target_language


def written(folder: Path, sources: Sequence[str], targets: Sequence[str]) -> dict[str, object]:
    for name, lines in (("source.txt", sources), ("target.txt", targets)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {"source": str(folder / "source.txt"), "target": str(folder / "target.txt")}


@pytest.mark.parametrize(
    ("sources", "targets", "expected"),
    [
        (["我们今天去北京。"] * 3, ["Сегодня мы едем"] * 3, ("zh", None)),
        (["今日は北京へ行きます。"] * 3, ["Σήμερα πάμε εκεί."] * 3, ("ja", "el")),
        (["오늘 우리는 베이징에 갑니다."] * 3, ["a b c"] * 3, ("ko", None)),
        (["a b c d e f g"] * 9, ["b a d c f e h"] * 9, (None, None)),
        (["我"], [""], (None, None)),
        ([], [], (None, None)),
    ],
)
def test_scripts_show_languages(
    tmp_path: Path, sources: list[str], targets: list[str], expected: tuple[str | None, str | None]
):
    assert looked(written(tmp_path, sources, targets)) == expected


@pytest.mark.slow
def test_the_identifier_shows_what_scripts_leave_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("py3langid", reason="the extra languages is not installed")
    monkeypatch.setattr("openwork.text.languages.LEAST_WORDS", 8)
    english = [
        f"The {a} of the {b} stands there." for a in ["house", "tree", "river"] for b in ["king", "city", "garden"]
    ]
    german = [
        f"{a} steht schon lange neben {b}."
        for a in ("Das Haus", "Der Baum", "Die Brücke")
        for b in ("der Straße", "dem Schloss", "uns")
    ]
    assert looked(written(tmp_path, english * 10, german * 10)) == ("en", "de")


def test_names_come_before_a_look_and_what_is_said_before_both(tmp_path: Path):
    for name in ("train.en", "train.zh"):
        (tmp_path / name).write_text("我们今天去北京。\n" * 3, encoding="utf-8")
    data: dict[str, object] = {"source": str(tmp_path / "train.en"), "target": str(tmp_path / "train.zh")}
    assert looked(data) == ("en", "zh")
    assert looked({**data, "source_language": "fr"}) == ("fr", "zh")


def test_keys_of_json_lines_are_languages(tmp_path: Path):
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"translation": {"de": "Hallo", "en": "Hello"}}\n')
    assert looked({"file": str(file)}) == ("de", "en")
    file.write_text('{"source": "Hallo", "target": "Hello"}\n')
    assert looked({"file": str(file)}) == (None, None)


def test_a_run_that_goes_on_keeps_the_languages_of_then(tmp_path: Path):
    data = written(tmp_path, ["我们今天去北京。"] * 3, ["a"] * 3)
    assert looked(data, run(**data)) == (None, None)
    assert looked(data, run(**data, source_language="ja")) == ("ja", None)


def test_known_corpora_texts_and_labels_are_not_looked_at(tmp_path: Path):
    assert looked({"corpus": "copy"}) == (None, None)
    data = written(tmp_path, ["我们今天去北京。"] * 3, ["a"] * 3)
    labels = Layer({"data": data, "text": {"shared": False, "target_kind": "labels"}, "model": {"tying": "none"}})
    labelled = resolve_run(labels)
    assert with_languages(labelled, None, print) is labelled


@pytest.mark.slow
def test_a_run_and_its_bundle_know_the_languages_of_own_files(tmp_path: Path):
    data = {**written(tmp_path, [f"我们今天去北京{number}。" for number in range(60)], ["a b"] * 60), "held_out": 5}
    model = {"width": 8, "heads": 1, "feedforward_width": 8, "encoder_layers": 1, "decoder_layers": 1}
    training = {"steps": 2, "validate_every": 2, "warmup": 1, "average": 1}
    settings = resolve_run(
        Layer({"data": data, "text": {"vocabulary_size": 300}, "model": model, "training": training})
    )
    outcome = train_bundle(settings, tmp_path / "out", lambda line: None)
    assert outcome.bundle is not None
    assert load_bundle(outcome.bundle).settings.source_language == "zh"
    assert read_run_file(tmp_path / "out" / "run.toml").mapping["data"]["source_language"] == "zh"
