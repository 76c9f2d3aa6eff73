"""What `import openwork` offers: every name is documented with an example that runs, and none is loaded too early."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import openwork
from architecture.house import REPOSITORY
from openwork.base.errors import BundleError, ConfigError, OpenworkError, UsageError
from openwork.base.tasks import Task

PACKAGES = ("openwork", "openwork.nn", "openwork.models", "openwork.data", "openwork.decoding")
NOT_CALLED = ("__version__", "nn", "models", "data", "decoding", "PRESETS")
TINY = {
    "data.count": 40, "text.vocabulary_size": 400, "batches.tokens": 128, "model.width": 16, "model.heads": 2,
    "model.feedforward_width": 16, "model.encoder_layers": 1, "model.decoder_layers": 1, "training.steps": 2,
    "training.warmup": 1, "training.cooldown": 0, "training.validate_every": 2, "training.validation_sentences": 2,
    "training.average": 1,
}  # fmt: skip
SMALL = {key: value for key, value in TINY.items() if not key.startswith(("text.", "data."))}


def package(name: str) -> ModuleType:
    return sys.modules[name] if name in sys.modules else __import__(name, fromlist=["_"])


@pytest.mark.parametrize("name", PACKAGES)
def test_the_names_are_those_that_type_checkers_see(name: str) -> None:
    """A package imports its names twice: for type checkers, and when they are used."""
    module = package(name)
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "openwork.base.public" and node.module != "typing"
        for alias in node.names
    }
    assert set(module.__all__) == imported | ({"__version__"} if name == "openwork" else set())
    assert list(module.__all__) == sorted(module.__all__)
    for public in module.__all__:
        assert getattr(module, public) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


def test_importing_openwork_loads_nothing_large() -> None:
    program = "import openwork, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numpy", "pydantic", "rich", "typer", "tokenizers"} & set(loaded)


def documented() -> Iterator[tuple[str, Any]]:
    for name in openwork.__all__:
        value = getattr(openwork, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, value


@pytest.mark.parametrize("name", [name for name, _ in documented()])
def test_every_public_name_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(openwork, name))


@pytest.mark.slow
def test_the_examples_run(en_de: Path, trained: Callable[[Task], openwork.TrainedModel], tmp_path: Path) -> None:
    sentences = tmp_path / "sentences"
    sentences.write_text("a b\nc d e\n")
    names = {
        "openwork": openwork, "en_de": en_de, "translator": openwork.load(en_de), "folder": tmp_path,
        "tiny": TINY, "small": SMALL, "sentences": sentences,
        "classifier": trained("classify"), "tagger": trained("tag"), "answerer": trained("answer"),
        "filler": trained("fill"), "language_model": trained("language-model"), "embedder": trained("embed"),
    }  # fmt: skip
    finder, runner, tried = (
        doctest.DocTestFinder(exclude_empty=True),
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS),
        0,
    )
    modules = {inspect.getmodule(value) for _, value in documented()} | {openwork}
    for module in modules:
        if module is not None and module.__name__.startswith(("openwork.api", "openwork")):
            for test in finder.find(module, module.__name__, extraglobs=names):
                tried += len(test.examples)
                runner.run(test)
    assert runner.failures == 0 and tried >= 15


@pytest.mark.slow
def test_what_is_loaded_follows_from_the_task(trained: Callable[[Task], openwork.TrainedModel], en_de: Path) -> None:
    kinds = {task: type(trained(task)) for task in ("classify", "tag", "answer", "fill", "language-model", "embed")}
    assert kinds == {
        "classify": openwork.Classifier, "tag": openwork.Tagger, "answer": openwork.Answerer,
        "fill": openwork.MaskFiller, "language-model": openwork.LanguageModel, "embed": openwork.Embedder,
    }  # fmt: skip
    assert repr(openwork.load(str(en_de))).startswith(f"Translator('{en_de}', 0.0")


@pytest.mark.slow
def test_one_text_or_many(en_de: Path) -> None:
    translator = openwork.load(en_de)
    assert isinstance(translator, openwork.Translator)
    one = translator.translate("a b c")
    assert isinstance(one, openwork.Translation)
    assert [one.text] == [found.text for found in translator.translate(["a b c"])] == translator_texts(translator)
    assert translator.translate([]) == []
    assert str(one) == one.text and repr(one).startswith(f"Translation({one.text!r}, score=-0.")
    two = translator.translate("a b c", best=2)
    assert [len(two), two[0].text] == [2, one.text]
    assert [len(found) for found in translator.translate(("a", "b"), best=2)] == [2, 2]


def translator_texts(translator: openwork.Translator) -> list[str]:
    return [found.text for found in translator.translate(iter(["a b c"]))]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [3, None, b"a", ["a", 3], [None]])
def test_wrong_types_are_refused_in_a_sentence(en_de: Path, wrong: Any) -> None:
    translator: Any = openwork.load(en_de)
    with pytest.raises(UsageError, match="a text is a str, and this is of type"):
        translator.translate(wrong)


@pytest.mark.parametrize("wrong", [3, None, b"a"])
def test_what_is_no_path_is_refused_in_a_sentence(wrong: Any) -> None:
    with pytest.raises(UsageError, match="a path is a str or a Path, and this is of type") as refused:
        openwork.load(wrong)
    assert refused.value.hint
    with pytest.raises(UsageError, match="a path is a str or a Path"):
        openwork.train(out=wrong, corpus="copy")


@pytest.mark.parametrize("wrong", [3, None, "en-de"])
def test_what_is_no_model_is_refused_in_a_sentence(wrong: Any) -> None:
    with pytest.raises(UsageError, match="evaluate takes a loaded model, and this is of type") as refused:
        openwork.evaluate(wrong, source=["a"], reference=["a"])
    assert "openwork.load" in refused.value.hint


def test_remedies_are_those_of_python(en_de: Path, tmp_path: Path) -> None:
    """Called from Python, no error tells of an option of the command line."""
    translator: Any = openwork.load(en_de)
    with pytest.raises(ConfigError, match="best = 3 needs a beam of at least 3") as refused:
        translator.translate("a", best=3, beam=2)
    assert refused.value.hint == "set beam = 3, or best lower"
    with pytest.raises(BundleError) as missing:
        openwork.load(tmp_path / "nothing")
    assert "--bundle" not in missing.value.hint


@pytest.mark.slow
def test_what_does_not_go_together_is_refused(en_de: Path) -> None:
    translator: Any = openwork.load(en_de)
    with pytest.raises(UsageError, match="there are 1 sources and 2 references"):
        translator.score("a", ["a", "b"])
    with pytest.raises(UsageError, match="this is of type list"):
        translator.explain(["a", "b"])


def test_keys_of_the_search_are_checked(en_de: Path) -> None:
    translator: Any = openwork.load(en_de)
    with pytest.raises(ConfigError, match="beem"):
        translator.translate("a", beem=3)
    with pytest.raises(OpenworkError):
        translator.translate("a", beam=-1)


def test_an_explanation_shows_itself(en_de: Path) -> None:
    translator = openwork.load(en_de)
    assert isinstance(translator, openwork.Translator)
    found = translator.explain("a b")
    assert repr(found).startswith("Explanation(") and "softmax" in str(found)
    assert repr(found.trace).startswith("Trace('translation', ") and len(repr(found.trace)) < 60
    assert repr(found.trace.step("chosen")).startswith("Step('chosen', position ")
    assert found._repr_html_().startswith("<iframe srcdoc=")
    assert "paper-base" in translator._repr_html_() and "bert-base" not in translator._repr_html_()


@pytest.mark.slow
def test_a_test_set_is_two_files_or_two_lists(en_de: Path, tmp_path: Path) -> None:
    translator = openwork.load(en_de)
    source, reference = tmp_path / "a", tmp_path / "b"
    source.write_text("a b\nc\n")
    reference.write_text("a b\nc d\n")
    from_files = openwork.evaluate(translator, source=source, reference=str(reference))
    from_lists = openwork.evaluate(translator, source=["a b", "c"], reference=["a b", "c d"])
    assert dict(from_files) == dict(from_lists) and from_files.examples == 2
    assert from_files.bleu is from_files["BLEU"] and "BLEU" in repr(from_files)
    assert "<td>chrF2</td>" in from_files._repr_html_()
    for wrong in ({}, {"source": source}, {"source": source, "reference": ["a"]}, {"source": ["a"], "reference": []},
                  {"corpus": "copy", "source": source}):  # fmt: skip
        with pytest.raises(UsageError):
            openwork.evaluate(translator, **wrong)


def test_similarity_of_texts(trained: Callable[[Task], openwork.TrainedModel]) -> None:
    embedder = trained("embed")
    assert isinstance(embedder, openwork.Embedder)
    vectors = embedder.embed(["a b", "c"])
    cosine = float(vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1]))
    assert embedder.similarity("a b", "c") == pytest.approx(cosine, abs=1e-5)
    table = embedder.similarity(["a b", "c"], ["a b", "c", "d"])
    assert table.shape == (2, 3) and table[0, 0] == pytest.approx(1.0, abs=1e-5)


SCRIPTS = {page: REPOSITORY / page for page in ("README.md", "docs/python.md")}


@pytest.mark.slow
@pytest.mark.parametrize("page", SCRIPTS)
def test_the_script_of_the_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It trains, loads, translates, explains and evaluates in at most 15 lines; here on little data."""
    blocks = re.findall(r"^```python\n(.*?)^```$", SCRIPTS[page].read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (script,) = [block for block in blocks if "openwork.train(" in block]
    assert len(script.strip().splitlines()) <= 15
    assert all(f"{word}(" in script for word in ("train", "load", "translate", "explain", "evaluate"))
    text = "".join(f"{one} {other}\n" for one in "abcdefgh" for other in "abcdefgh")
    for name in ("train.en", "train.de", "test.en", "test.de"):
        (tmp_path / name).write_text(text)
    train = openwork.train

    def train_little(*given: Any, **named: Any) -> openwork.Run:
        small = {key: value for key, value in TINY.items() if key != "data.count"}
        return train(*given, **{**named, "set": {**named.get("set", {}), **small}, "progress": False})

    monkeypatch.setattr(openwork, "train", train_little)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(script, page, "exec"), names)
    results = [value for value in names.values() if isinstance(value, openwork.Run | openwork.Scores)]
    assert len(results) == 2
    for result in results:
        shown = "<table>" if isinstance(result, openwork.Scores) else "<iframe srcdoc="
        assert len(repr(result)) < 200 and shown in result._repr_html_()


def test_training_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to train on"):
        openwork.train(out=tmp_path / "run", source=tmp_path / "a")


def test_a_search_is_shown_as_text_as_a_tree_and_as_json(en_de: Path) -> None:
    translator: Any = openwork.load(en_de)
    shown = translator.search_tree("a b c", beam=3)
    assert [one.text for one in shown.translations] == [translator.translate("a b c", beam=3).text]
    assert shown.to_json()["beam"] == 3 and len(shown.to_json()["nodes"]) == len(shown.tree.nodes)
    assert "├─" in str(shown) and str(shown).splitlines()[-1].endswith(shown.tree.finished[-1].text)
    assert shown._repr_html_().startswith("<iframe srcdoc=") and repr(shown).startswith("SearchedText(")
    with pytest.raises(UsageError):
        translator.search_tree(" ")
