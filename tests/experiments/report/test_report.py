"""The report: complete, offline, escaped, in both languages, and honest where there is nothing to report."""

import csv
import re
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

import pytest

from experiments.simulated import arms, experiment, make_test_set, score_on_test_set, touch, trial
from html_page import Page
from openwork.base.errors import DataError
from openwork.base.messages import catalogue
from openwork.base.phrases import AsIs
from openwork.experiments.report import findings
from openwork.experiments.report.document import ReportDocument, ReportTable
from openwork.experiments.report.report import report_of, write_report
from openwork.experiments.report.results import read_results
from openwork.metrics.significance import Effort
from openwork.metrics.two_way_bootstrap import Draws, resample

pytest.importorskip("scipy", reason="the extra experiments is not installed")

ABLATION = '[[variants]]\nname = "full"\n[[variants]]\nname = "one head"\nsettings = {"model.heads" = 1}\n'
SCORES = {"full": [30.0, 31.0, 30.5], "one head": [28.2, 28.4, 28.3], "other": [30.1, 30.9, 30.4]}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many resamples are drawn is not what these tests look at."""
    monkeypatch.setattr(findings, "resample", partial(resample, draws=Draws(50)))
    monkeypatch.setattr(findings, "PAIRED", Effort(50, 50))


def ablation(folder: Path, name: str = "full", title: str = "ablations", problem: str = "it diverged") -> Path:
    """An experiment with everything that a report of variants can have; `name` stands wherever a name can."""
    variants = ABLATION.replace('"full"', f"'{name}'")
    experiment(folder, more=variants, name=title)
    arms(folder, {name: SCORES["full"], "one head": SCORES["one head"]}, machine=name, signature=name)
    arms(folder, {f"other {name}": SCORES["other"]}, settings={f"model.{name}": name}, signature=name)
    what = {"code": "E001", "what": problem, "why": name}
    trial(folder, 10, name, 4, None, state="failed", problem=what, settings={name: 1}, group=name)
    trial(folder, 11, name, 5, None, state="pruned")
    make_test_set(folder, {"a": [0.2, 0.21, 0.19], "b": [0.6, 0.6, 0.63], "c": [0.21, 0.2, 0.2]})
    return folder


def sensitivity(folder: Path) -> Path:
    """Two structures at three learning rates with two seeds each."""
    experiment(folder)
    number = 0
    for variant, best in (("lstm", 24.0), ("transformer", 28.0)):
        for rate, below in ((1e-5, 2.0), (1e-4, 0.0), (5e-4, 1.0)):
            for seed in (1, 2):
                number += 1
                key = "training.learning_rate"
                trial(folder, number, variant, seed, best - below + seed, settings={key: rate}, group=key)
    return folder


def heads(folder: Path) -> Path:
    """Two trained models without each of four heads of two attentions."""
    experiment(folder, "heads")
    number = 0
    for seed in (1, 2):
        number += 1
        trial(folder, number, "whole model", seed, 30.0 + seed)
        for attention, loss in (("encoder.layers.0.self_attention", 0.5), ("decoder.layers.0.cross_attention", 2.0)):
            for head in (1, 2):
                number += 1
                settings = {"heads.without": f"{attention}.{head}"}
                more = {"group": attention, "settings": settings}
                trial(folder, number, f"without head {head}", seed, 30.0 + seed - loss * head * seed, **more)
    return folder


def protocol(folder: Path) -> Path:
    """The protocol with an LSTM as its baseline, and a trial of the search that was not its best."""
    experiment(folder, "protocol")
    number = 0
    for variant, group, best in (
        *(("lstm", "settings of lstm", 24.5), ("tf", "settings of lstm", 26.8)),
        *(("tf", "own settings", 28.4), ("lstm", "own settings", 24.9)),
    ):
        for seed in (1, 2, 3):
            number += 1
            trial(folder, number, variant, seed, best + 0.1 * seed, group=group, settings={"model.width": 64})
    trial(folder, 20, "lstm", 1, 10.0, group="settings of lstm", settings={"model.width": 32})
    (folder / "importance.json").write_text('{"lstm": {"model.width": 0.75, "model.dropout": 0.25}}', "utf-8")
    return folder


KINDS = {"ablation": ablation, "sensitivity": sensitivity, "heads": heads, "protocol": protocol}


def section(document: ReportDocument, title: str) -> tuple[list[str], dict[str, ReportTable]]:
    """The sentences and the tables of a section."""
    (found,) = (one for one in document.sections if one.title == title)
    return list(found.sentences), {part.title: part for part in found.parts if isinstance(part, ReportTable)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_is_complete_and_loads_nothing(tmp_path: Path, kind: str, language: str):
    folder = KINDS[kind](tmp_path / "e")
    write_report(folder, language)
    source = (folder / "report.html").read_text("utf-8")
    page = Page(source)
    assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in page.elements}
    assert set(re.findall(r"https?://[^\"'\s<>]+", source)) == {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme: dark" in source and "default-src 'none'" in source
    assert next(more for tag, more in page.elements if tag == "html") == {"lang": language}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_has_its_data_beside_it(tmp_path: Path, kind: str):
    folder = KINDS[kind](tmp_path / "e")
    written = write_report(folder)
    assert all(path.is_file() for path in written)
    pictures = {path.stem for path in written if path.suffix == ".svg"}
    assert pictures and pictures == {path.stem for path in written if path.suffix == ".csv"}
    markdown = (folder / "report.md").read_text("utf-8")
    assert set(re.findall(r"\(figures/([\w-]+)\.svg\)", markdown)) == pictures
    for path in written:
        if path.suffix == ".svg":
            assert ElementTree.fromstring(path.read_text("utf-8")).tag.endswith("svg")
        if path.suffix == ".csv":
            rows = list(csv.reader(path.read_text("utf-8").splitlines()))
            assert len(rows) > 1 and len({len(row) for row in rows}) == 1


EVIL = ["<img src=x onerror=alert(1)>", "</style><script>alert(1)</script>", "a|b](http://x) `c` [d](e) *f* \n# g"]


@pytest.mark.slow
@pytest.mark.parametrize("evil", EVIL)
def test_no_name_becomes_markup(tmp_path: Path, evil: str):
    harmless = Page(_page_of(tmp_path / "a", "w" * len(evil)))
    page = Page(_page_of(tmp_path / "b", evil))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    assert [set(more) for _, more in page.elements] == [set(more) for _, more in harmless.elements]
    assert sum(evil.split("\n")[0] in text for text in page.texts) > 10
    markdown = (tmp_path / "b" / "report.md").read_text("utf-8")
    plain = (tmp_path / "a" / "report.md").read_text("utf-8")
    assert "<" not in markdown and len(markdown.splitlines()) == len(plain.splitlines())
    assert len(re.findall(r"(?<!\\)[|\[`]", markdown)) == len(re.findall(r"(?<!\\)[|\[`]", plain))


def _page_of(folder: Path, name: str) -> str:
    write_report(ablation(folder, name.replace("\n", " "), title=name, problem=name))
    return (folder / "report.html").read_text("utf-8")


def test_what_is_said_of_an_ablation(tmp_path: Path):
    document = report_of(read_results(ablation(tmp_path / "e")))
    facts = [("trials", "11"), ("that count", "9"), ("seeds", "5"), ("metric", "BLEU"), ("test set", "touched")]
    assert document.facts == facts
    found, _ = section(document, "What was found")
    assert found[0] == "full has the highest mean."
    assert "No difference was shown between full and: other full." in found
    assert any(one.startswith("Shown to differ from full: one head (-") for one in found)
    _, tables = section(document, "Variants")
    means = tables["Means over seeds"]
    assert [row[0] for row in means.rows] == ["full", "one head", "other full"]
    first = dict(zip(means.columns, means.rows[0], strict=False))
    assert (first["seeds"], first["weights"], first["updates"]) == ("3", "5,000,000", "500")
    assert first["core-hours"] == "0.60", "three trainings of 720 seconds of a core"
    assert first["FLOPs"] == "3.00e+12"
    assert means.rows[0][3:6] == ["30.50", "29.26 … 31.74", "≈"], "s = 0.5, t = 4.303"
    assert means.rows[1][5] == "" and means.rows[2][8] == "≈"
    parted = tables["What the score of a sentence varies with, on the test set"]
    assert [row[0] for row in parted.rows] == [row[0] for row in means.rows]
    for row in parted.rows:
        assert sum(float(share) for share in row[1::3]) == pytest.approx(100, abs=0.2)
    _, tests = section(document, "Differences")
    costs = tests["What each change costs"]
    assert [row[0] for row in costs.rows] == ["one head", "other full"]
    assert list(costs.rows[0][6:]) == ["-2.3", "-0.9"] and list(costs.rows[1][6:]) == ["–", "–"]
    assert all("The question" in table.note or "The same question" in table.note for table in tests.values())
    assert set(tests) == {
        *("New seeds, the test set", "What each change costs", "Two given systems, new texts"),
        *("New seeds and new texts: scores of sentences", "New seeds and new texts: score of the corpus"),
    }


def test_trials_that_do_not_count_are_shown_with_the_rule(tmp_path: Path):
    document = report_of(read_results(ablation(tmp_path / "e")))
    sentences, tables = section(document, "Trials that do not count")
    assert sentences[0] == "9 trials have finished, 1 have failed, 1 were ended early, 0 finished without a figure."
    assert sentences[1].startswith("A trial counts where it has finished with a figure")
    rows = tables["Trials that do not count"].rows
    assert [(row[0], *row[4:]) for row in rows] == [
        ("10", "failed", "–", "it diverged (full)"),
        ("11", "ended early", "–", ""),
    ]
    said = section(document, "The test set")[0]
    assert "Trials that were scored on it: 1, 2, 3, 4, 5, 6, 7, 8, 9." in said
    assert said[-1] == "Scored on it from 2026-05-01 12:00 UTC."
    _, cost = section(document, "Cost")
    assert [list(row[1:3]) for row in cost["What the trials took"].rows] == [
        ["9", "1.80"],
        ["2", "0.40"],
        ["11", "2.20"],
    ]


def test_the_gains_of_the_protocol(tmp_path: Path):
    document = report_of(read_results(protocol(tmp_path / "e")))
    sentences, tables = section(document, "What the structure gains, and what the tuning gains")
    assert "no share of the gain belongs to one of them alone" in sentences[0]
    rows = tables["tf against lstm"].rows
    assert [row[1] for row in rows] == ["+2.30", "+1.60", "+0.40", "+3.50", "+1.20"]
    assert [row[5] for row in rows] == ["+2.30", "+1.60", "+0.40", "+3.50", "+1.20"], "all seeds gain the same"
    assert [row[6] for row in rows] == ["+2.3", "+1.6", "–", "+3.9", "–"]
    assert "without seed 1" in tables["tf against lstm"].columns
    _, variants = section(document, "Variants")
    assert [list(row) for row in variants["Settings with one seed"].rows] == [
        ["lstm (settings of lstm, width = 32)", "model.width = 32", "10.00"]
    ]
    _, importance = section(document, "Importance of the settings")
    assert [list(row) for row in importance["lstm"].rows] == [["model.width", "75.0"], ["model.dropout", "25.0"]]
    assert section(document, "The test set")[0] == ["The test set has not been touched."]


def test_short_trials_flatter_nothing(tmp_path: Path):
    """They chose settings with a seed of their own, so no column leaves a seed out, and no mean lacks a trial."""
    folder = protocol(tmp_path / "e")
    file = folder / "experiment.toml"
    file.write_text(file.read_text("utf-8").replace("updates = 500", "updates = 500\nsearch = 0.2"), "utf-8")
    trial(folder, 90, "lstm", 4, 9.0, group="settings of lstm", short=True)
    document = report_of(read_results(folder))
    assert ("seeds", "3") in document.facts
    _, tables = section(document, "What the structure gains, and what the tuning gains")
    assert not any("without seed" in column for column in tables["tf against lstm"].columns)
    assert {len(row) for row in tables["tf against lstm"].rows} == {len(tables["tf against lstm"].columns)}
    sentences, _ = section(document, "What would have changed the conclusion")
    assert not any("flatters" in sentence for sentence in sentences)


def test_the_same_trainings_under_two_names_are_compared_once(tmp_path: Path):
    folder = experiment(tmp_path / "e", "protocol")
    for seed, score in enumerate((25.0, 25.2, 25.1), start=1):
        trial(folder, seed, "lstm", seed, score, group="settings of lstm")
        trial(folder, 3 + seed, "tf", seed, score - 10, group="settings of lstm")
        trial(folder, 6 + seed, "lstm", seed, score, group="own settings", copy_of=seed)
    document = report_of(read_results(folder))
    _, tables = section(document, "Differences")
    (only,) = tables["New seeds, the validation texts"].rows
    assert only[0] == "tf (settings of lstm)" and only[4] == only[5], "one comparison"
    _, tables = section(document, "Variants")
    assert [row[5] for row in tables["Means over seeds"].rows] == ["≈", "", "≈"]


def test_curves_stand_beside_the_documents(tmp_path: Path):
    folder = sensitivity(tmp_path / "e")
    write_report(folder)
    _, tables = section(report_of(read_results(folder)), "Sensitivity")
    rows = [list(row) for row in tables["training.learning_rate"].rows]
    assert rows[0] == ["lstm", "1e-05", "23.50", "17.15 … 29.85", "2", "-2.00", "23.1", "-1.0"]
    assert [row[5] for row in rows] == ["-2.00", "+0.00", "-1.00"] * 2
    picture = ElementTree.fromstring((folder / "figures/sensitivity-training-learning-rate.svg").read_text("utf-8"))
    bands = [path for path in picture.iter() if path.get("data-part") == "band"]
    assert len(bands) == 2
    ticks = [text.text for text in picture.iter() if text.get("data-part") == "x-tick"]
    assert "1e-05" in ticks and "0.0001" in ticks, "a logarithmic axis"


def test_heads_are_compared_with_their_own_model(tmp_path: Path):
    """Losses of 0.5 and 1, doubled with the second seed: means 0.75 and 1.5 of the first attention, four times of the
    second.
    """
    document = report_of(read_results(heads(tmp_path / "e")))
    sentences, tables = section(document, "Removed heads")
    assert "whole model, by seed: 1: 31.00, 2: 32.00" in sentences
    rows = [list(row) for row in tables["Difference from the whole model, without one head"].rows]
    assert rows[0] == ["encoder.layers.0.self_attention", "2", "2", "-1.12", "-5.89 … 3.64", "-2.00", "-0.50"]
    assert rows[1][3] == "-4.50" and rows[1][5:] == ["-8.00", "-2.00"]
    assert "Differences" not in [one.title for one in document.sections]


def test_a_head_that_failed_leaves_the_others_their_numbers(tmp_path: Path):
    folder = heads(tmp_path / "e")
    (folder / "trials" / "0002" / "trial.json").unlink()
    write_report(folder)
    rows = [*csv.reader((folder / "figures" / "heads.csv").read_text("utf-8").splitlines())]
    assert rows[1] == ["encoder.layers.0.self_attention", "1", "2", "-1.0"]


def test_a_test_set_whose_scoring_was_interrupted_says_so(tmp_path: Path):
    folder = ablation(tmp_path / "e")
    touch(folder, ended=None)
    said = section(report_of(read_results(folder)), "The test set")[0]
    assert said[-1] == "The scoring has not ended: it was interrupted, or is under way."


def test_what_would_have_changed_the_conclusion(tmp_path: Path):
    document = report_of(read_results(ablation(tmp_path / "e")))
    sentences, _ = section(document, "What would have changed the conclusion")
    assert any(
        sentence.startswith("With one seed drawn for each, full would have come out first") for sentence in sentences
    )
    # The trial that was ended early is one of these settings, the failed one is of others.
    assert "Of full 1 of 4 trials do not count: its mean is that of the others, which flatters it." in sentences


def test_an_empty_experiment_says_so(tmp_path: Path):
    folder = experiment(tmp_path / "e")
    write_report(folder)
    document = report_of(read_results(folder))
    assert section(document, "What was found")[0] == ["No trial has a result yet: there is nothing to compare."]
    assert "Variants" not in [one.title for one in document.sections]


def test_an_experiment_that_failed_says_so(tmp_path: Path):
    folder = experiment(tmp_path / "e")
    for number in (1, 2):
        trial(folder, number, "a", number, None, state="failed", problem={"code": "E", "what": "no disk", "why": ""})
    write_report(folder)
    document = report_of(read_results(folder))
    assert section(document, "What was found")[0] == [
        "None of the 2 trials has finished with a figure: there is nothing to compare."
    ]
    assert "no disk" in (folder / "report.md").read_text("utf-8")


def test_one_seed_each_is_not_tested(tmp_path: Path):
    folder = arms(experiment(tmp_path / "e"), {"a": [1.0], "b": [2.0]})
    write_report(folder)
    document = report_of(read_results(folder))
    assert section(document, "What was found")[0] == [
        "No two variants have two seeds each, so no difference between variants can be tested."
    ]
    _, tables = section(document, "Variants")
    assert [row[4] for row in tables["Means over seeds"].rows] == ["one seed", "one seed"]


def test_a_test_set_of_some_variants_ranks_nothing(tmp_path: Path):
    """Where only some arms were scored on the test set, the comparisons stay on the validation texts."""
    folder = arms(experiment(tmp_path / "e"), SCORES)
    for place in sorted(folder.glob("trials/*"))[:6]:
        score_on_test_set(place, 1.0, [1.0, 2.0])
    _, tables = section(report_of(read_results(folder)), "Differences")
    assert "New seeds, the validation texts" in tables and "New seeds, the test set" not in tables


def test_trials_that_cannot_be_compared_make_no_report(tmp_path: Path):
    folder = arms(experiment(tmp_path / "e"), {"a": [1.0]})
    trial(folder, 2, "b", 1, 2.0, signature="tok:zh")
    with pytest.raises(DataError, match="trials 1 and 2 cannot be compared"):
        write_report(folder)
    assert not (folder / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_chinese_is_complete(tmp_path: Path, kind: str):
    """Every sentence, heading, column and note has a translation; names and numbers have none."""
    document = report_of(read_results(KINDS[kind](tmp_path / "e")))
    translate = catalogue("zh").translate
    said = [document.summary, *(name for name, _ in document.facts)]
    for one in document.sections:
        said += [one.title, *one.sentences]
        for part in one.parts:
            said += [part.title, part.note]
            said += part.columns if isinstance(part, ReportTable) else []
    words = [text for text in said if re.search(r"[A-Za-z]{2}", text) and not isinstance(text, AsIs)]
    missing = [text for text in words if not re.search("[\u4e00-\u9fff]", translate(text)) and text not in NAMES]
    assert len(words) > 30 and missing == []


NAMES = {"BLEU", "FLOPs"}


@pytest.mark.slow
def test_pictures_have_chinese_words(tmp_path: Path):
    folder = ablation(tmp_path / "e")
    write_report(folder, "zh")
    assert "测试集" in (folder / "figures" / "variants-test.svg").read_text("utf-8")
