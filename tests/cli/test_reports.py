"""Reports are in the reader's language, to the last label; what is for programs is the same in every language."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer import rich_utils

from journeys.command import Finished
from openwork.base.messages import LANGUAGE_VARIABLE
from openwork.base.phrases import shown_width

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
ENGLISH = re.compile(r"[A-Za-z]{2,}('s)?( [A-Za-z]{2,}('s)?){2,}")
NAMES = re.compile("van den Oord|output bias pooler")  # in a citation, and of weights
COMMANDS = re.compile(r"openwork [a-z]+( [a-z]+| RUN\.toml)*")  # what is typed is the same in every language
OPTION = re.compile(r"^  \S.* \(\S+:\d+\)")  # of another toolkit, with its values and place
SAMPLES = sorted((Path(__file__).parents[1] / "migration" / "samples").iterdir())
DOUBTFUL = """[data]
source = "not-there.en"
target = "not-there.de"
[training]
schedule = "paper"
learning_rate = 0.1
momentum = 0.5
warmup = 500
steps = 100
validate_every = 200
[decoding]
beam = 1
length_penalty = 1.0
"""


@pytest.fixture
def speak(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`speak("zh")`: from here on, messages are in that language."""
    for name in ("OPTIONS", "COMMANDS", "ARGUMENTS", "ERRORS"):  # they are set once, and would stay
        title = f"{name}_PANEL_TITLE"
        monkeypatch.setattr(rich_utils, title, getattr(rich_utils, title))
    return lambda language: monkeypatch.setenv(LANGUAGE_VARIABLE, language)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Small files to give to commands, and no corpora on this machine."""
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts = {
        "source": "a b <b>c</b>\nd e\nf\n",
        "reference": "a b c\nd e\ng\n",
        "other": "a b c\nd d\nh\n",
        "pairs.tsv": "a dog\tein Hund\na dog\tein Hund\nx\tx\n\tleer\n",
        "valid.tsv": "a dog\tein Hund\n",
        "doubtful.toml": DOUBTFUL,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name.partition(".")[0]: tmp_path / name for name in texts}


def lines_in_chinese(result: Finished) -> list[str]:
    """What was printed and said; no line may have an English sentence, and some must be Chinese."""
    assert result.code == 0, result.err
    lines = [*result.out.decode().splitlines(), *result.err.splitlines()]
    assert [line for line in lines if ENGLISH.search(NAMES.sub("", COMMANDS.sub("", OPTION.sub("", line))))] == []
    assert any(re.search(r"[\u4e00-\u9fff]", line) for line in lines)
    return lines


def check(call: Call, speak: Callable[[str], None], *arguments: str | Path, stdin: bytes = b"") -> list[str]:
    """The lines of a command in Chinese; what it gives to programs does not depend on the language."""
    told = {}
    for language in ("en", "zh"):
        speak(language)
        told[language] = call(*arguments, "--json", stdin=stdin).out
    assert told["en"] == told["zh"] and all(json.loads(line) for line in told["en"].splitlines())
    return lines_in_chinese(call(*arguments, stdin=stdin))


@pytest.mark.parametrize("arguments", [(), ("nano",), ("paper-base",)])
def test_info(arguments: tuple[str, ...], call: Call, speak: Callable[[str], None]):
    check(call, speak, "info", *arguments)


def test_info_of_a_bundle_shows_its_card_as_it_is(call: Call, speak: Callable[[str], None], bundle_folder: Path):
    assert check(call, speak, "info", bundle_folder)[-1] == "# tiny"


def test_columns_stand_under_their_titles(call: Call, speak: Callable[[str], None], files: dict[str, Path]):
    speak("zh")
    listed = call("data", "list").out.decode().splitlines()
    rows = listed[: listed.index("")]
    starts = {
        shown_width(row[: found.start()]) for row in rows if (found := re.search(r"位置|内置|不在本机|软件包", row))
    }
    assert len(starts) == 1


def test_evaluate(call: Call, speak: Callable[[str], None], files: dict[str, Path], bundle_folder: Path):
    given = ("--bundle", bundle_folder, "--source", files["source"], "--reference", files["reference"])
    lines = check(call, speak, "evaluate", *given)
    figures = [line for line in lines if re.match(r"(BLEU|chrF2|全同|保留) ", line)]
    assert len(figures) == 4 and len({shown_width(line[: line.index(".")]) for line in figures}) == 1


def test_compare(call: Call, speak: Callable[[str], None], files: dict[str, Path]):
    quick = ("--trials", "40", "--resamples", "40", "--language", "en")
    lines = check(call, speak, "compare", files["source"], files["other"], "--reference", files["reference"], *quick)
    assert any("没有显著差异" in line or "更好" in line for line in lines)


def test_data_list(call: Call, speak: Callable[[str], None], files: dict[str, Path]):
    check(call, speak, "data", "list")


def test_data_stats(call: Call, speak: Callable[[str], None], files: dict[str, Path]):
    held_out = ("--set", f"data.valid_tsv={files['valid']}", "--set", "filters.maximum_characters=7")
    lines = check(call, speak, "data", "stats", "--set", f"data.tsv={files['pairs']}", *held_out)
    assert lines[0] == "train：4 对" and any(line.startswith("  过滤器会略去的：略去 2 对：") for line in lines)


@pytest.mark.slow
def test_data_prepare(call: Call, speak: Callable[[str], None], tmp_path: Path):
    speak("zh")
    arguments = ("data", "prepare", "copy", "--out", tmp_path / "out", "--set", "filters.maximum_characters=12")
    assert any("略去" in line for line in lines_in_chinese(call(*arguments)))
    assert any("那里已有" in line for line in lines_in_chinese(call(*arguments)))


def test_average(call: Call, speak: Callable[[str], None], bundle_folder: Path, tmp_path: Path):
    speak("zh")
    lines_in_chinese(call("average", bundle_folder, bundle_folder, "--out", tmp_path / "mean"))


def test_score(call: Call, speak: Callable[[str], None], bundle_folder: Path):
    lines = check(call, speak, "score", "--bundle", bundle_folder, stdin=b"a b\ta b\nno tab\n" + b"a\t" + b"b " * 1100)
    assert sum(line.startswith("第 ") for line in lines) == 2


def test_tokenize_explains_itself(call: Call, speak: Callable[[str], None], bundle_folder: Path):
    speak("zh")
    result = call("tokenize", "--bundle", bundle_folder, "--show-work", stdin=b"start found\n")
    assert "词 " in result.out.decode() and "子词：" in result.out.decode()
    lines_in_chinese(result)


def test_config_check(call: Call, speak: Callable[[str], None], files: dict[str, Path]):
    lines = check(call, speak, "config", "check", files["doubtful"])
    assert sum(line.startswith("警告：") for line in lines) == 7


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_config_from(sample: Path, call: Call, speak: Callable[[str], None], tmp_path: Path):
    speak("en")
    english = call("config", "from", sample), call("config", "from", sample, "--json")
    speak("zh")
    chinese = call("config", "from", sample), call("config", "from", sample, "--json")
    assert [result.out for result in chinese] == [result.out for result in english]  # the run file, and JSON
    lines_in_chinese(call("config", "from", sample, "--out", tmp_path / "run.toml"))


@pytest.mark.parametrize("key", [[], ["decoding"], ["model.tying"]])
def test_config_explain(key: list[str], call: Call, speak: Callable[[str], None]):
    check(call, speak, "config", "explain", *key)


def test_a_plan(call: Call, speak: Callable[[str], None]):
    plan = ("train", "--plan", "--set", "data.corpus=copy", "--hours", "3", "--price", "2")
    check(call, speak, *plan, "--devices", "8")
    check(call, speak, *plan, "--devices", "1024", "--bandwidth", "1e9")


@pytest.mark.parametrize("command", ["", "info", "data list", "data prepare", "config from", "translate"])
def test_help(command: str, call: Call, speak: Callable[[str], None]):
    speak("zh")
    for option in ("--help", "-h"):
        text = call(*command.split(), option).out.decode()
        assert "显示这段帮助。" in text and "Show this message" not in text
