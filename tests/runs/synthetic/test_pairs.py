"""Pairs that a model writes: they are its translations, a stop loses nothing, and each rule by hand."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openwork.base.errors import ConfigError, UsageError
from openwork.bundles.bundle import load_bundle
from openwork.inference.bulk.work import ShardTask, ShardTranslator
from openwork.inference.loading import translator_of
from openwork.inference.settings import settings_over
from openwork.metrics.translation import chrf_metric
from openwork.runs.synthetic import pairs as pairs_module
from openwork.runs.synthetic.backtranslation import back_translated, back_translation_plan
from openwork.runs.synthetic.corpus import Corpus, corpus_of
from openwork.runs.synthetic.distillation import distillation_plan, first_target, nearest_target
from openwork.runs.synthetic.pairs import UNUSABLE, ModelOutput, NewPair
from openwork.runs.synthetic.translated import SyntheticPlan, write_pairs


@contextlib.contextmanager
def no_bar(total: int, what: str) -> Iterator[Any]:
    yield lambda count: None


def written(plan: SyntheticPlan, corpus: Corpus, out: Path) -> tuple[list[str], list[str], list[str]]:
    said: list[str] = []
    write_pairs(plan, corpus, out, said.append, no_bar)
    return *((out / name).read_text().splitlines() for name in ("source.txt", "target.txt")), said


@pytest.fixture
def corpus(pair_files: tuple[Path, Path]) -> Corpus:
    """Forty sentences and a blank line, with their translations."""
    source, target = pair_files
    source.write_text(f"\n{source.read_text()}")
    target.write_text(f"blank\n{target.read_text()}")
    return corpus_of(None, source, target)


def test_targets_are_what_the_teacher_translates(teacher_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    bundle = load_bundle(teacher_folder)
    translator = translator_of([bundle], settings_over(bundle.settings.decoding, {"best": 1}))
    sentences = [pair.source for pair in corpus.pairs()]
    best = [found[0] for found in translator.translate(sentences)]
    expected = [
        (s, t.text)
        for s, t in zip(sentences, best, strict=True)
        if t.finished and t.text.strip() and t.text.isprintable()
    ]
    sources, targets, said = written(distillation_plan([teacher_folder], 1, "float32"), corpus, tmp_path / "pairs")
    assert list(zip(sources, targets, strict=True)) == expected
    assert 10 < len(expected) < 40
    assert said[0].startswith("40 sentences to translate: about ")
    assert sorted(path.name for path in (tmp_path / "pairs").iterdir()) == ["pairs.json", "source.txt", "target.txt"]


def test_what_was_stopped_goes_on_to_the_same_bytes(
    teacher_folder: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_module, "SHARD", 7)
    plan = distillation_plan([teacher_folder], 1, "float32")
    whole = written(plan, corpus, tmp_path / "whole")[:2]
    translated: list[str] = []
    proper = ShardTranslator.__call__

    def third_fails(self: ShardTranslator, task: ShardTask) -> Any:
        if task.before is None:
            translated.append(task.shard.name)
        if len(translated) == 3:
            raise KeyboardInterrupt
        return proper(self, task)

    with monkeypatch.context() as patch:
        patch.setattr(ShardTranslator, "__call__", third_fails)
        with pytest.raises(KeyboardInterrupt):
            written(plan, corpus, tmp_path / "pairs")
        assert not (tmp_path / "pairs" / "target.txt").exists()
        translated.append("")  # no more failures
        assert written(plan, corpus, tmp_path / "pairs")[:2] == whole
    assert translated[:3] == ["000000.txt", "000001.txt", "000002.txt"]
    assert translated[4:] == [f"00000{number}.txt" for number in range(2, 6)]  # the first two were kept
    assert written(plan, corpus, tmp_path / "pairs")[2] == [f"{tmp_path / 'pairs'}: the pairs are there already"]
    (tmp_path / "pairs" / "target.txt").write_text("spoilt\n")
    assert written(plan, corpus, tmp_path / "pairs")[:2] == whole


def test_other_options_or_sentences_are_refused(teacher_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "pairs"
    written(distillation_plan([teacher_folder], 1, "float32"), corpus, out)
    with pytest.raises(ConfigError, match="made otherwise: nearest, translation"):
        written(distillation_plan([teacher_folder], 2, "float32"), corpus, out)
    with pytest.raises(ConfigError, match="made otherwise: direction, nearest, sentences, tag, translation"):
        one = tmp_path / "one"
        one.write_text("a b\n")
        written(back_translation_plan([teacher_folder], {"beam": 4}, "", "float32"), corpus_of(None, one), out)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "mine").touch()
    with pytest.raises(UsageError, match="other things in it"):
        written(distillation_plan([teacher_folder], 1, "float32"), corpus, foreign)


def test_the_sentences_are_named_once() -> None:
    with pytest.raises(UsageError, match="name the sentences"):
        corpus_of(None, None)
    with pytest.raises(UsageError, match="name the sentences"):
        corpus_of("copy", Path("file"))


def test_a_corpus_by_name_in_both_directions() -> None:
    forwards, backwards = corpus_of("reverse", None), corpus_of("reverse", None, side="target")
    pair = next(forwards.pairs())
    assert next(backwards.pairs()) == pair[::-1]


def candidates(*texts: str, cut: bool = False, sentence: str = "one two three", reference: str = "") -> ModelOutput:
    """Texts with a question mark at their beginning are unfinished."""
    listed = tuple({"text": text.removeprefix("?"), "finished": not text.startswith("?")} for text in texts)
    return ModelOutput(sentence, reference, listed, cut)


def test_which_translation_is_taken() -> None:
    sentence = "one two three"
    assert first_target(candidates("eins zwei", "drei")) == NewPair(sentence, "eins zwei")
    assert first_target(candidates("?eins zwei", "drei")) == NewPair(sentence, "drei")
    for unusable in (candidates(""), candidates("?eins"), candidates("eins", cut=True), candidates("a\0")):
        assert first_target(unusable) == nearest_target(unusable, chrf_metric()) == NewPair(problem=UNUSABLE)
    found = candidates("eins zwo drei", "eins zwei drei", "?eins zwei dreie", reference="eins zwei dreie")
    assert nearest_target(found, chrf_metric()) == NewPair(sentence, "eins zwei drei")


def test_what_is_left_out_of_back_translations() -> None:
    assert back_translated(candidates("eins zwei"), "<BT>") == NewPair("<BT> eins zwei", "one two three")
    assert back_translated(candidates("eins zwei")) == NewPair("eins zwei", "one two three")
    assert back_translated(candidates("?eins")).problem == UNUSABLE
    assert "repeated" in back_translated(candidates("ja ja ja ja ja")).problem
    assert back_translated(candidates("ja ja ja ja ja", sentence="yes yes yes yes yes")).problem == ""
    assert "copy" in back_translated(candidates("One two, three!")).problem
    assert (
        "three times" in back_translated(candidates("eins zwei", sentence="one two three four five six seven")).problem
    )
    assert back_translated(candidates("eins zwei", sentence="one two three four five six")).problem == ""
