"""Models that label, from the run file to the answer: trained, scored, asked line for line, and refused kindly."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from journeys.command import Finished
from openwork.base.config import build
from openwork.base.errors import ConfigError, DataError
from openwork.base.toml import write_value
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings, tokenizers_for_task, vocabulary_lines
from openwork.data.records import Pair
from openwork.evaluation.baselines import label_baseline
from openwork.evaluation.label_scores import label_scores
from openwork.inference.labeller import GapFiller, Labeller
from openwork.metrics.translation import Score
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import EncoderSettings
from openwork.runs.file.settings import RunSettings
from openwork.text.forms import word_starts
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.words import Labels, WordNumbers

Call = Callable[..., Finished]

KIND = {"classify": "labels", "tag": "labels", "answer": "positions"}
LONGER = {"model.norm": "pre", "training.steps": 150}  # a class is learnt from one vector, and later than tags
CITIES = ["rome", "bonn", "new york", "san juan"]


def sentences(count: int) -> list[tuple[str, str, str]]:
    """Texts, what they are about, and their tags."""
    made = []
    for number in range(count):
        city = CITIES[number % 4]
        verb, label = [("fly", "flight"), ("drive", "car")][number // 4 % 2]
        tags = ["B-to" if place == 0 else "I-to" for place in range(len(city.split()))]
        made.append((f"please {verb} to {city} now", label, " ".join(["O", "O", "O", *tags, "O"])))
    return made


def run_file(tmp_path: Path, task: str, **changes: Any) -> Path:
    """A tiny run on forty texts, and the files that it names."""
    column = 1 if task == "classify" else 2
    made = sentences(40)
    for name, rows in (("train", made), ("valid", made[:12])):
        (tmp_path / f"{name}.txt").write_text("".join(f"{row[0]}\n" for row in rows))
        (tmp_path / f"{name}.labels").write_text("".join(f"{row[column]}\n" for row in rows))
    values: dict[str, Any] = {
        "data.source": f"{tmp_path}/train.txt", "data.target": f"{tmp_path}/train.labels",
        "data.valid_source": f"{tmp_path}/valid.txt", "data.valid_target": f"{tmp_path}/valid.labels",
        "text.kind": "words", "text.vocabulary_size": 300, "text.minimum_frequency": 1, "text.shared": False,
        "text.target_kind": KIND[task], "batches.tokens": 128, "model.kind": "encoder", "model.task": task,
        "model.width": 16, "model.heads": 2, "model.feedforward_width": 16, "model.layers": 1, "model.dropout": 0.0,
        "training.schedule": "constant", "training.learning_rate": 0.01, "training.warmup": 5, "training.steps": 60,
        "training.validate_every": 30, "training.metric": "score", "training.average": 1,
        "training.label_smoothing": 0.0, "training.precision": "float32", **changes,
    }  # fmt: skip
    path = tmp_path / f"{task}.toml"
    path.write_text("".join(f"{key} = {write_value(value)}\n" for key, value in values.items()))
    return path


@pytest.mark.slow
def test_a_tagger_from_the_run_file_to_the_answer(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "run"
    trained = call("train", run_file(tmp_path, "tag"), "--out", out)
    assert trained.code == 0 and "slot_F1=100.00" in trained.err and "openwork tag " in trained.err
    assert "loses text" not in trained.err  # the coach's words for a tokenizer that does
    text = b"please fly to new  york now\n\nno such words at all\n"
    said = call("tag", "--bundle", out, stdin=text)
    lines = said.out.decode().split("\n")
    assert lines[0] == "O O O B-to I-to O" and lines[1] == "" and len(lines[2].split()) == 5
    first = json.loads(call("tag", "--bundle", out, "--json", "--best", "2", stdin=text).out.splitlines()[0])
    assert [word["word"] for word in first["words"]] == ["please", "fly", "to", "new", "york", "now"]
    assert first["spans"] == [{"kind": "to", "first": 3, "last": 4, "text": "new york"}]
    assert first["words"][3]["labels"][0]["label"] == "B-to"
    files = ["--source", tmp_path / "valid.txt", "--reference", tmp_path / "valid.labels"]
    scored = json.loads(call("evaluate", "--bundle", out, *files, "--json", "--out", tmp_path / "ev").out)
    assert scored["scores"][0]["name"] == "slot F1" and scored["scores"][0]["value"] == 100.0
    assert (tmp_path / "ev" / "translations.txt").read_text() == (tmp_path / "valid.labels").read_text()
    other = call("classify", "--bundle", out, stdin=b"please\n")
    assert other.code == 2 and "trained for the task tag, not classify" in other.err and "openwork tag" in other.err
    marked = load_bundle(out)
    begins = marked.model.get_buffer("begins").tolist()
    assert begins == word_starts(marked.tokenizers.source) and not all(begins)  # kept with the weights


@pytest.mark.slow
def test_a_classifier_from_the_run_file_to_the_answer(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "run"
    trained = call("train", run_file(tmp_path, "classify", **LONGER), "--out", out)
    assert trained.code == 0 and "accuracy=100.00" in trained.err
    assert "| score" not in trained.err and "- accuracy 100.00" in load_bundle(out).card
    said = call("classify", "--bundle", out, stdin=b"please drive to rome now\n \nplease fly to rome now\n")
    assert said.out == b"car\n\nflight\n"
    (line,) = call("classify", "--bundle", out, "--best", "9", stdin=b"drive now\n").out.decode().splitlines()
    shares = [float(part) for part in line.split()[::2]]
    assert sorted(line.split()[1::2]) == ["car", "flight"] and sum(shares) == pytest.approx(1, abs=1e-3)
    found = json.loads(call("classify", "--bundle", out, "--json", stdin=b"please fly\n").out)
    assert found["labels"][0]["label"] == "flight" and 0.5 < found["labels"][0]["probability"] <= 1
    table = tmp_path / "dev.tsv"
    table.write_text("id\tsentence\tlabel\n1\tplease fly to rome now\tflight\n2\tplease drive to rome now\tflight\n")
    scored = call("evaluate", "--bundle", out, "--file", table)
    assert scored.code == 0 and "accuracy" in scored.out.decode() and " 50.00  (95 %:" in scored.out.decode()
    strange = tmp_path / "valid.labels"
    strange.write_text("flight\nfligth\n" + "car\n" * 10)
    refused = call("train", tmp_path / "classify.toml", "--out", tmp_path / "again")
    assert refused.code == 3 and "valid.labels:2: the label 'fligth' is not in the training pairs" in refused.err
    strange.write_text("flight\na car\n" + "car\n" * 10)
    refused = call("train", tmp_path / "classify.toml", "--out", tmp_path / "again")
    assert refused.code == 3 and "valid.labels:2: the label 'a car' has a space in it" in refused.err
    assert "a_car" in refused.err


@pytest.mark.parametrize(
    ("task", "line", "message"),
    [
        ("tag", "O O", r"train\.labels:2: words 5, tags 2"),
        ("classify", "two words", r"train\.labels:2: the label 'two words' has a space"),
        ("answer", "2 9", r"train\.labels:2: '2 9' are not the numbers"),
        ("answer", "3 2", r"train\.labels:2: '3 2' are not the numbers"),
    ],
)
def test_a_target_that_does_not_fit_is_named(call: Call, tmp_path: Path, task: str, line: str, message: str) -> None:
    path = run_file(tmp_path, task)
    right = "0 1\n" if task == "answer" else None
    lines = (tmp_path / "train.labels").read_text().splitlines(keepends=True)
    lines = [right or one for one in lines]
    (tmp_path / "train.labels").write_text("".join([lines[0], f"{line}\n", *lines[2:]]))
    refused = call("train", path, "--out", tmp_path / "run")
    assert refused.code == 3 and re.search(message, refused.err), refused.err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": {"shared": True}}, "predicts labels, and the targets are cut into pieces of text"),
        ({"training": {"metric": "bleu"}}, 'training.metric = "bleu" is not measured of model.task = "classify"'),
        ({"model": {"kind": "transformer", "tying": "target"}}, '"score" is not measured of model.task = "generate"'),
        ({"data": {"file": "a.tsv", "columns": ["label"]}}, "names 1 columns"),
    ],
)
def test_settings_that_contradict_a_task(changes: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {
        "data": {"corpus": "sst2"},
        "text": {"shared": False, "target_kind": "labels"},
        "model": {"kind": "encoder", "task": "classify"},
        "training": {"metric": "score"},
    }
    build(RunSettings, values)
    with pytest.raises(ConfigError) as refused:
        build(RunSettings, {**values, **changes})
    assert message in refused.value.what


@dataclass(frozen=True)
class Read:
    """As many sources as there are rows."""

    rows: int

    def select(self, rows: Tensor) -> "Read":
        return Read(len(rows))


class Oracle(SequenceModel[Read]):
    """A model whose logits are given, place by place: what is asked of it can be worked out by hand."""

    def __init__(self, logits: Sequence[Sequence[float]]) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor(logits))

    @property
    def output_weight(self) -> Tensor:
        return torch.eye(self.table.shape[1])

    def start(self, source: Tensor, source_lengths: Tensor) -> Read:
        return Read(len(source))

    def advance(self, tokens: Tensor, state: Read) -> tuple[Tensor, Read]:
        return self.table[: tokens.shape[1]].expand(state.rows, -1, -1), state

    def attend(self, tokens: Tensor, state: Read) -> tuple[Tensor, Tensor, Read]:
        logits, state = self.step(tokens, state)
        return logits, torch.ones(*tokens.shape, 1), state


def words(count: int = 400) -> Any:
    return KINDS["words"].learn(["one two three four five"] * 3, count)


def test_probabilities_are_among_the_labels_alone() -> None:
    labels = Labels.of(["a", "b"])
    model = Oracle([[9.0, 9.0, 9.0, 9.0, 1.0, 0.0]])
    labeller = Labeller(model, TokenizerPair(words(), labels), "classify")
    ((place,),) = [found.places for found in labeller.label(["one"], 5)]
    assert [choice.label for choice in place] == ["a", "b"]  # never a symbol, however probable
    assert place[0].probability == pytest.approx(1 / (1 + 2.718281828**-1))
    assert labeller.best(["one", "", "two three"]) == ["a", "", "a"]


def test_an_answer_is_the_best_pair_of_ends_and_no_pair_of_best_ends() -> None:
    labels = WordNumbers.learn((), 8)
    low = -50.0
    # word 2 is the best beginning and word 0 the best end, which is before it: the best span is 0 to 0
    first = [low, low, low, low, 2.0, 0.0, 3.0, low]
    last = [low, low, low, low, 4.0, 0.0, 1.0, low]
    model = Oracle([first, last])
    labeller = Labeller(model, tokenizers_for_task(TokenizerPair(words(), labels), "answer"), "answer")
    ((place,),) = [found.places for found in labeller.label(["one two three four"], 2)]
    assert [choice.label for choice in place] == ["0 0", "2 2"]
    total = sum(2.718281828**one for one in (2, 0, 3)) * sum(2.718281828**one for one in (4, 0, 1))
    assert place[0].probability == pytest.approx(2.718281828 ** (2 + 4) / total, rel=1e-4)
    nothing = Oracle([[low, low, low, 9.0, *first[4:]], last])
    labeller = Labeller(nothing, tokenizers_for_task(TokenizerPair(words(), labels), "answer"), "answer")
    assert labeller.best(["one two three four"]) == [""]  # the end symbol first: there is no answer


def test_an_answer_has_at_most_30_words() -> None:
    low, labels = -50.0, WordNumbers.learn((), 60)
    tokens = [low] * 4 + [0.0] * (labels.vocabulary_size - 4)
    for words_of_it, expected in ((30, ["0 29"]), (31, ["0 1"])):
        first, last = list(tokens), list(tokens)
        first[4], last[4 + words_of_it - 1] = 9.0, 9.0  # a span of so many words is the best by far
        last[5] = 7.0  # then one of two
        model = Oracle([first, last])
        labeller = Labeller(model, tokenizers_for_task(TokenizerPair(words(), labels), "answer"), "answer")
        assert labeller.best(["one " * 40]) == expected


def test_gaps_are_filled_piece_by_piece() -> None:
    tokenizer = words()
    names = [tokenizer.piece(number) for number in range(tokenizer.vocabulary_size)]
    table = torch.zeros(5, len(names))
    table[1, names.index(" three")] = table[0, names.index("one")] = 9.0
    table[:, :4] = 20.0  # symbols fill no gap
    model = Oracle(table.tolist())
    filler = GapFiller(model, tokenizer, 1)
    found = filler.fill(["one [MASK] two", "[MASK] two", "one two"], 2)
    assert [one.text for one in found] == ["one three two", "one two", "one two"]
    assert found[0].gaps[0][0].label == " three" and len(found[0].gaps[0]) == 2 and found[2].gaps == ()


@pytest.mark.slow
def test_gaps_of_a_real_model_on_the_command_line(call: Call, tmp_path: Path) -> None:
    tokenizer = words()
    size = tokenizer.vocabulary_size
    settings = EncoderSettings(task="fill", width=8, heads=2, feedforward_width=8, layers=1)
    torch.manual_seed(1)
    pair = TokenizerPair(tokenizer, tokenizer)
    write_bundle(tmp_path / "b", Bundle(BundleSettings(model=settings), pair, build_model(settings, size, size)))
    said = call("fill", "--bundle", tmp_path / "b", stdin=b"one [MASK] three\nfour five\n").out.decode().split("\n")
    assert said[0].startswith("one") and said[0].endswith(" three") and said[1] == "four five"
    shown = call("fill", "--bundle", tmp_path / "b", "--best", "3", stdin=b"one [MASK] three\n").out.decode()
    assert len(shown.split()) == 6
    found = json.loads(call("fill", "--bundle", tmp_path / "b", "--json", stdin=b"[MASK] two [MASK]\n").out)
    assert len(found["gaps"]) == 2
    refused = call("evaluate", "--bundle", tmp_path / "b", "--source", __file__, "--reference", __file__)
    assert refused.code == 2 and "the task fill is not scored on labelled examples" in refused.err
    files = ("--source", __file__, "--reference", __file__)
    refused = call("evaluate", "--bundle", tmp_path / "b", *files, "--texts")
    assert refused.code == 2 and "--texts is for models that generate text, and this one is for" in refused.err


@pytest.mark.slow
def test_an_answer_on_the_command_line(call: Call, tmp_path: Path) -> None:
    path = run_file(tmp_path, "answer", **{"training.steps": 5, "model.segments": 2})
    for name in ("train", "valid"):
        texts = [f"where\t{line}" for line in (tmp_path / f"{name}.txt").read_text().splitlines()]
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in texts))
        (tmp_path / f"{name}.labels").write_text("4 4\n" * len(texts))
    assert call("train", path, "--out", tmp_path / "run").code == 0
    line = b"where\tplease fly to rome now\n"
    (said,) = call("answer", "--bundle", tmp_path / "run", stdin=line).out.decode().splitlines()
    assert said in line.decode().replace("\t", " ")
    found = json.loads(call("answer", "--bundle", tmp_path / "run", "--best", "3", "--json", stdin=line).out)
    assert len(found["answers"]) == 3
    assert {"text", "words", "probability"} == set(found["answers"][0])


def values(scores: tuple[Score, ...]) -> dict[str, float]:
    return {score.name: round(score.value, 2) for score in scores}


def test_scores_by_hand() -> None:
    found = label_scores("classify", ["1", "1", "0", "0"], ["1", "0", "0", "0"])
    # one positive of two found and none wrongly: 2 * 1 / (1 + 2); MCC = (1 * 2 - 0) / sqrt(1 * 2 * 2 * 3)
    assert values(found) == {"accuracy": 75.0, "macro F1": 73.33, "MCC": 57.74, "F1 of 1": 66.67}
    assert values(label_scores("classify", ["1", "2", "3"], ["1", "2", "5"]))["Spearman"] == 100.0
    tags = label_scores("tag", ["O B-x I-x", "O B-y"], ["O B-x I-x", "B-y"], 50)
    assert values(tags) == {"slot F1": 50.0, "precision": 50.0, "recall": 50.0, "tags": 60.0, "sentences": 50.0}
    assert tags[0].low == 0.0 and tags[0].high == 100.0 and "bs:50" in tags[0].signature
    assert set(values(label_scores("tag", ["N V"], ["N N"]))) == {"tags", "sentences"}
    answers = label_scores("answer", ["2 4", "", "0 0"], ["3 4", "", "5 6"])
    assert values(answers) == {"word F1": 60.0, "exact": 33.33}  # 0.8, 1 and 0
    for told in ([], ["a", "b"]):
        with pytest.raises(DataError):
            label_scores("classify", told[1:], told[:1] * len(told))


def test_lines_for_a_vocabulary_have_their_space() -> None:
    assert list(vocabulary_lines(["a  b", "c"], "tag")) == [" a b", " c"]
    assert list(vocabulary_lines(["a  b"], "classify")) == ["a  b"]


def test_the_commonest_tag_of_a_word() -> None:
    train = [
        Pair("to rome", "O B-to"),
        Pair("to bonn", "O B-to"),
        Pair("from rome", "O B-from"),
        Pair("to rome", "O B-to"),
    ]
    found, saved = label_baseline(train, [Pair("from rome now", "O B-from O")], "cities")
    assert values(found.scores) == {"slot F1": 0.0, "precision": 0.0, "recall": 0.0, "tags": 66.67, "sentences": 0.0}
    assert found.lines()[0] == "the tag that each word had most often"
    assert found.to_json()["examples"] == 1 and saved.task == "tag" and list(saved.translations) == ["O B-to O"]
    with pytest.raises(DataError, match="nothing to learn from"):
        label_baseline([], train, "cities")


@pytest.mark.slow
def test_words_without_their_order(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (the extra tasks)")
    rows = [(text, label) for text, label, _ in sentences(40)]
    for name, part in (("train", rows), ("dev", rows[:8])):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in [("sentence", "label"), *part]))
    files = ["--train-file", tmp_path / "train.tsv", "--file", tmp_path / "dev.tsv"]
    found = json.loads(call("baseline", *files, "--json").out)
    assert found["scores"][0]["value"] == 100.0 and "logistic regression" in found["baseline"]


def test_what_a_baseline_needs(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = call("baseline", "--file", tmp_path / "dev.tsv")
    assert refused.code == 2 and "--train-file" in refused.err
    monkeypatch.setattr("openwork.evaluation.baselines.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="needs scikit-learn"):
        label_baseline([Pair("a", "x"), Pair("b", "y")], [Pair("a", "x")], "letters")
