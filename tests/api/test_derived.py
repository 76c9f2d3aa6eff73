"""What is made of a translator from Python is what the commands make; what cannot be made is refused in a sentence."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import openwork
from api.test_public import SMALL
from openwork.base.errors import ConfigError, DataError, UsageError
from openwork.bundles.folder import WEIGHTS, whole_bundle
from openwork.cli.main import app
from openwork.data.corpora import catalogue as corpora


@pytest.fixture
def translator(en_de: Path) -> openwork.Translator:
    found = openwork.load(en_de)
    assert isinstance(found, openwork.Translator)
    return found


def run_command(*arguments: str) -> int:
    return CliRunner().invoke(app, list(arguments)).exit_code


@pytest.fixture
def few_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpus `copy` with 300 pairs to train with: Python and commands read the same, and 20,000 show no more."""
    few = replace(corpora.CORPORA["copy"], pairs=(2000, 20, 20))
    monkeypatch.setitem(corpora.CORPORA, "copy", few)


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "sentences"
    path.write_text("a b\nc d e\n\nb b a\n")
    return path


def weights(folder: Path) -> bytes:
    return (whole_bundle(folder) / WEIGHTS).read_bytes()


@pytest.mark.slow
def test_fewer_bits_are_those_of_the_command(translator: openwork.Translator, en_de: Path, tmp_path: Path) -> None:
    small = translator.quantise("int8", out=tmp_path / "own")
    assert run_command("quantise", str(en_de), "--to", "int8", "--out", str(tmp_path / "other")) == 0
    assert weights(tmp_path / "own") == weights(tmp_path / "other")
    assert isinstance(small, openwork.Translator) and small.path == tmp_path / "own"


@pytest.mark.slow
@pytest.mark.usefixtures("few_copies")
def test_a_pruned_model_is_that_of_the_command(translator: openwork.Translator, en_de: Path, tmp_path: Path) -> None:
    translator.prune(corpus="copy", out=tmp_path / "own", heads=1, vocabulary=True)
    options = ("--corpus", "copy", "--heads", "1", "--vocabulary")
    assert run_command("prune", str(en_de), *options, "--out", str(tmp_path / "other")) == 0
    assert weights(tmp_path / "own") == weights(tmp_path / "other")


@pytest.mark.slow
@pytest.mark.usefixtures("few_copies")
@pytest.mark.parametrize("level", ["sequence", "word"])
def test_a_student_is_that_of_the_command(
    translator: openwork.Translator, en_de: Path, tmp_path: Path, level: Any
) -> None:
    student = translator.distill(corpus="copy", out=tmp_path / "own", level=level, set=SMALL, progress=False)
    settings = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    options = ("--corpus", "copy", "--level", level, *settings)
    assert run_command("distill", str(en_de), *options, "--out", str(tmp_path / "other")) == 0
    assert weights(tmp_path / "own" / "bundle") == weights(tmp_path / "other" / "bundle")
    assert student.settings.model == openwork.load(tmp_path / "other").settings.model


@pytest.mark.slow
def test_pairs_are_those_of_the_command(
    translator: openwork.Translator, en_de: Path, sentences: Path, tmp_path: Path
) -> None:
    own = translator.backtranslate(source=sentences, out=tmp_path / "own", tag="<BT>", progress=False, beam=2)
    options = ("--source", str(sentences), "--tag", "<BT>", "--beam", "2")
    assert run_command("backtranslate", str(en_de), *options, "--out", str(tmp_path / "other")) == 0
    for name in ("source.txt", "target.txt"):
        assert (own / name).read_text() == (tmp_path / "other" / name).read_text()
    again = translator.backtranslate(source=sentences, out=tmp_path / "own", tag="<BT>", progress=False, beam=2)
    assert again == own


@pytest.mark.parametrize(
    ("sizes", "code"),
    [({}, "U175"), ({"heads": 0}, "U180"), ({"heads": True}, "U180"), ({"heads": "2"}, "U180"), ({"width": 8}, "U180"),
     ({"vocabulary": 1}, "U180")],
)  # fmt: skip
def test_other_sizes_are_refused(translator: openwork.Translator, tmp_path: Path, sizes: Any, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        translator.prune(corpus="copy", out=tmp_path / "out", **sizes)
    assert refused.value.code == code and not (tmp_path / "out").exists()


def test_what_is_missing_or_unknown_is_refused(
    translator: openwork.Translator, sentences: Path, tmp_path: Path
) -> None:
    out, unknown = tmp_path / "out", "nothing"
    given: Any = unknown
    with pytest.raises(UsageError, match="parts are judged by pairs"):
        translator.prune(source=sentences, out=out, heads=1)
    with pytest.raises(UsageError, match="unknown number type 'nothing'"):
        translator.quantise(given, out=out)
    with pytest.raises(UsageError, match="unknown level 'nothing'"):
        translator.distill(source=sentences, out=out, level=given)
    with pytest.raises(UsageError, match="need the targets of the corpus"):
        translator.distill(source=sentences, out=out, level="word")
    with pytest.raises(UsageError, match="name the sentences to translate"):
        translator.distill(out=out)
    with pytest.raises(UsageError, match="name the sentences to translate"):
        translator.backtranslate(out=out)
    with pytest.raises(ConfigError, match="decoding"):
        translator.backtranslate(source=sentences, out=out, nothing=1)
    with pytest.raises(DataError):
        translator.backtranslate(source=tmp_path / unknown, out=out, progress=False)
    assert not out.exists()
