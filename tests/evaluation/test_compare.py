"""openwork evaluate --out and openwork compare: what is saved is what is compared, and only what is comparable."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from journeys.command import Finished, told
from openwork.evaluation.evaluate import evaluate
from openwork.evaluation.label_scores import label_scores
from openwork.evaluation.saved import SavedEvaluation, plain_signature, read_evaluation, write_evaluation
from openwork.metrics.significance import Effort, compare

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
REFERENCES = ["the first line of three", "a second line comes here", "and the third is the last"]
BETTER = ["the first line of three", "a second line comes here", "and a third was the last"]
WORSE = ["this first line of three", "the second line is here", "and the third be last"]
QUICK = ("--trials", "40", "--resamples", "40")


def save(
    folder: Path, translations: Sequence[str], references: Sequence[str] = REFERENCES, language: str = "en"
) -> Path:
    result = evaluate(translations, references, language, bootstrap=10)
    sources = [f"source {number}" for number in range(len(references))]
    write_evaluation(folder, SavedEvaluation(sources, translations, references, language, result.to_json()))
    return folder


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Path]:
    return save(tmp_path / "better", BETTER), save(tmp_path / "worse", WORSE)


def facts(result: Finished) -> dict[str, Any]:
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_saved_evaluation_comes_back(saved: tuple[Path, Path]):
    found = read_evaluation(saved[0])
    assert (found.translations, found.references, found.language) == (BETTER, REFERENCES, "en")
    assert found.sources[2] == "source 2"
    assert found.signatures.keys() == {"BLEU", "chrF2", "lc-BLEU"}
    assert found.signatures["BLEU"] == plain_signature(evaluate(BETTER, REFERENCES, "en", 0).scores[0].signature)


def test_signature_without_resampling():
    assert plain_signature("nrefs:1|bs:1000|seed:12345|tok:13a|ar:9") == "nrefs:1|tok:13a"


def test_compare_saved_evaluations(call: Call, saved: tuple[Path, Path]):
    found = facts(call("compare", saved[1], saved[0], *QUICK, "--json"))
    by_hand = compare(WORSE, BETTER, REFERENCES, language="en", effort=Effort(40, 40))
    assert found["sentences"] == 3 and found["first"] == str(saved[1])
    for one, other in zip(found["metrics"], by_hand, strict=True):
        assert (one["metric"], one["difference"], one["signature"]) == (other.metric, other.value, other.signature)
        assert (one["bootstrap"], one["randomisation"]) == (other.bootstrap, other.randomisation)
        assert one["difference"] > 0
    text = call("compare", *saved, *QUICK).out.decode()
    assert "difference -" in text and "no significant difference" in text and "by paired bootstrap" in text


def test_files_with_references_and_seed(call: Call, saved: tuple[Path, Path], tmp_path: Path):
    files = [folder / "translations.txt" for folder in saved]
    reference = ("--reference", saved[0] / "references.txt")
    found = facts(call("compare", *files, *reference, *QUICK, "--json"))
    assert found["metrics"] == facts(call("compare", *saved, *QUICK, "--json", "--language", "en"))["metrics"]
    other = facts(call("compare", *files, *reference, *QUICK, "--json", "--seed", "3"))
    assert "seed:3|" in other["metrics"][0]["signature"]
    mixed = facts(call("compare", saved[0], files[1], *QUICK, "--json"))
    assert mixed["metrics"] == found["metrics"]


def test_a_clear_winner_is_named(call: Call, tmp_path: Path):
    references = [f"{line} for the {number}th time" for number in range(8) for line in REFERENCES]
    worse = [line[::-1] for line in references]
    folders = save(tmp_path / "a", worse, references), save(tmp_path / "b", references, references)
    assert "B is better: p < 0.05 by both tests" in call("compare", *folders, *QUICK).out.decode()
    assert "A is better: p < 0.05 by both tests" in call("compare", *reversed(folders), *QUICK).out.decode()


def test_language_of_a_saved_evaluation_decides(call: Call, tmp_path: Path):
    chinese = ["我爱北京。", "天气很好。"]
    folders = [save(tmp_path / name, chinese, chinese, language="zh") for name in ("a", "b")]
    found = facts(call("compare", *folders, *QUICK, "--json"))
    assert "tok:zh" in found["metrics"][0]["signature"]
    assert {score["name"] for score in read_evaluation(folders[0]).facts["scores"]} == {"BLEU", "chrF2"}


def test_different_signatures_are_refused(call: Call, tmp_path: Path):
    one, other = save(tmp_path / "a", WORSE, language="en"), save(tmp_path / "b", BETTER, language="zh")
    told(call("compare", one, other), 3, "BLEU has different signatures", "tok:13a", "tok:zh", "--language")


def test_different_references_are_refused(call: Call, saved: tuple[Path, Path], tmp_path: Path):
    changed = [*REFERENCES[:2], "another"]
    told(call("compare", saved[0], save(tmp_path / "c", BETTER, changed)), 3, "not the same references: line 3 differs")
    shorter = save(tmp_path / "d", BETTER[:2], REFERENCES[:2])
    told(call("compare", saved[0], shorter), 3, "not the same references: ", "has 3 lines", "has 2 lines")
    (tmp_path / "refs").write_text("x\n" * 3)
    told(call("compare", *saved, "--reference", tmp_path / "refs"), 3, "line 1 differs between --reference and")


def test_different_lengths_are_refused(call: Call, saved: tuple[Path, Path], tmp_path: Path):
    (tmp_path / "short").write_text("one\ntwo\n")
    told(call("compare", saved[0], tmp_path / "short"), 3, "short has 2 translations, and there are 3 references")


def test_evaluate_saves_what_it_scored(call: Call, bundle_folder: Path, tmp_path: Path):
    (tmp_path / "s").write_text("a b\nc d\n")
    files = ("--source", tmp_path / "s", "--reference", tmp_path / "s")
    out = tmp_path / "scored"
    scores = facts(call("evaluate", "--bundle", bundle_folder, *files, "--out", out, "--json", "--beam", "1"))["scores"]
    found = read_evaluation(out)
    assert found.facts["scores"] == scores and found.facts["beam"] == 1
    assert list(found.sources) == list(found.references) == ["a b", "c d"]
    translated = call("translate", "--bundle", bundle_folder, "--beam", "1", stdin=b"a b\nc d\n")
    assert [line.replace("\0", "\ufffd") for line in translated.lines] == list(found.translations)
    again = facts(call("evaluate", "--bundle", bundle_folder, *files, "--out", out, "--json", "--beam", "2"))
    assert read_evaluation(out).facts["beam"] == 2 and again["sentences"] == 2  # an earlier one may be replaced
    assert facts(call("compare", out, out, *QUICK, "--json"))["metrics"][0]["difference"] == 0


def test_evaluate_follows_the_target_language(call: Call, bundle_folder: Path, tmp_path: Path):
    (tmp_path / "s").write_text("a b\n")
    (tmp_path / "t").write_text("我爱北京。\n")
    files = ("--source", tmp_path / "s", "--reference", tmp_path / "t")
    found = {one["name"]: one for one in facts(call("evaluate", "--bundle", bundle_folder, *files, "--json"))["scores"]}
    assert "tok:zh" in found["BLEU"]["signature"] and "lc-BLEU" not in found
    spaced = facts(call("evaluate", "--bundle", bundle_folder, *files, "--json", "--language", "de"))["scores"]
    assert "tok:13a" in spaced[0]["signature"] and "tok:moses-de" in spaced[2]["signature"]


def test_place_for_an_evaluation(call: Call, bundle_folder: Path, tmp_path: Path):
    (tmp_path / "s").write_text("a\n")
    files = ("--bundle", bundle_folder, "--source", tmp_path / "s", "--reference", tmp_path / "s")
    told(call("evaluate", *files, "--season", "4"), 2, "--season is for models of series")
    told(call("evaluate", *files, "--out", bundle_folder), 2, "--out is a folder with other things in it")
    told(call("evaluate", *files, "--out", tmp_path / "s"), 2, "--out is a file")
    assert (bundle_folder / "bundle.json").is_file() and (tmp_path / "s").read_text() == "a\n"


def save_labels(folder: Path, task: Any, told_labels: Sequence[str], references: Sequence[str]) -> Path:
    scores = [asdict(score) for score in label_scores(task, references, told_labels)]
    sources = [f"text {number}" for number in range(len(references))]
    write_evaluation(folder, SavedEvaluation(sources, told_labels, references, None, {"task": task, "scores": scores}))
    return folder


LABELS = ["flight", "fare", "flight", "meal"]


def test_labels_are_compared_by_the_scores_of_their_task(call: Call, tmp_path: Path):
    """Of four A has one right, B three: accuracy 25 against 75."""
    one = save_labels(tmp_path / "a", "classify", ["flight", "flight", "fare", "fare"], LABELS)
    other = save_labels(tmp_path / "b", "classify", ["flight", "fare", "flight", "fare"], LABELS)
    found = facts(call("compare", one, other, *QUICK, "--json"))
    assert (found["task"], found["examples"]) == ("classify", 4) and "sentences" not in found
    assert [metric["metric"] for metric in found["metrics"]] == ["accuracy", "macro F1", "MCC"]
    accuracy, macro, _ = found["metrics"]
    assert (accuracy["first"]["value"], accuracy["second"]["value"], accuracy["difference"]) == (25, 75, 50)
    # F1 of flight 1/2, of the others 0; then flight 1, fare 2/3, meal 0
    assert macro["first"]["value"] == pytest.approx(100 / 6) and macro["second"]["value"] == pytest.approx(500 / 9)
    # two examples differ, both for B: two of four exchanges are as large
    exact = facts(call("compare", one, other, "--trials", "4000", "--json"))["metrics"][0]
    assert exact["randomisation"] == pytest.approx(0.5, abs=0.03) and not exact["significant"]
    text = call("compare", one, other, *QUICK).out.decode()
    assert "4 examples" in text and "accuracy A 25.00" in text and "BLEU" not in text
    chinese = call("--lang", "zh", "compare", one, other, *QUICK).out.decode()
    assert "4 个样例" in chinese and "BLEU" not in chinese


def test_tags_are_compared_by_slots_and_a_file_with_a_saved_evaluation(call: Call, tmp_path: Path):
    """Two slots are right; A finds one of them, and B, a file of lines, both."""
    right = ["O B-city I-city", "B-day O"]
    one = save_labels(tmp_path / "a", "tag", ["O B-city I-city", "O O"], right)
    (tmp_path / "b").write_text("O B-city I-city\nB-day O\n")
    found = facts(call("compare", one, tmp_path / "b", *QUICK, "--json"))
    slots = found["metrics"][0]
    assert (slots["metric"], slots["second"]["value"]) == ("slot F1", 100)
    assert slots["first"]["value"] == pytest.approx(200 / 3)  # 2 x 1 / (1 + 2)
    assert {"precision", "recall", "tags", "sentences"} == {metric["metric"] for metric in found["metrics"][1:]}
    (tmp_path / "b").write_text("O B-city I-city\n")
    told(call("compare", one, tmp_path / "b"), 3, "1 outputs cannot be compared with 2 references")


def test_answers_are_compared_by_words(call: Call, tmp_path: Path):
    folders = [
        save_labels(tmp_path / name, "answer", [said, "0 0"], ["2 4", "0 0"])
        for name, said in zip("ab", ("3 4", "2 4"), strict=True)
    ]
    found = facts(call("compare", *folders, *QUICK, "--json"))["metrics"]
    assert [(one["metric"], one["difference"]) for one in found] == [("word F1", pytest.approx(10)), ("exact", 50)]


def test_different_tasks_are_refused(call: Call, saved: tuple[Path, Path], tmp_path: Path):
    one = save_labels(tmp_path / "a", "classify", ["x", "y"], ["x", "x"])
    other = save_labels(tmp_path / "b", "tag", ["x", "y"], ["x", "x"])
    told(call("compare", one, other), 3, "are not of one task", "labels of texts (classify)", "tags of words (tag)")
    told(call("compare", saved[0], other), 3, "are not of one task", "the first holds translations")
