"""Summaries: the docstrings of Python's standard library, and the first sentence of each.

The source is the name of a class or function with its parameters, and the docstring without its first sentence; the
target is that sentence. Read from the library's files without running them, on the machine itself; so the pairs are
those of this Python version, and scores are comparable between runs on the same one. The splits are made by content,
and no text is in two of them. Test code is left out.

`docstrings-more` has the same pairs held out, and to learn from also those of the packages that torch brings with it.
"""

import ast
import re
import sysconfig
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from openwork.base.messages import msg
from openwork.data.corpora.corpus import SPLITS, NamedCorpus, divide
from openwork.data.records import Pair

LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "dist-packages", "lib2to3", "__pycache__"}
PACKAGES = ("torch", "sympy", "networkx", "numpy")  # torch needs the others, or works with them
FEWEST_WORDS = 8  # of the long text; a shorter one needs no summary
MOST_WORDS = 200  # of the long text that are kept
SUMMARY = range(3, 31)  # words of the first sentence

_END_OF_SENTENCE = re.compile(r"[.!?](?=\s|$)|\n\s*\n")
_PARTS = 10  # one in ten pairs each for validation and test


def _more_pairs(split: str, folder: Path | None) -> Iterator[Pair]:
    """The library's pairs; to train on also the packages' that share no text with a pair that is held out."""
    found = divide(library_pairs(), split, _PARTS)
    if split != "train":
        return found
    held_out = {text for name in SPLITS[1:] for pair in divide(library_pairs(), name, _PARTS) for text in pair}
    return chain(found, (pair for pair in packages_pairs() if held_out.isdisjoint(pair)))


@cache
def library_pairs() -> tuple[Pair, ...]:
    """All pairs of this Python's library, each once, in the order of its files' names."""
    return folder_pairs(Path(sysconfig.get_path("stdlib")))


@cache
def packages_pairs() -> tuple[Pair, ...]:
    """The pairs of the packages that are installed, each once; the packages are not imported."""
    found = (find_spec(name) for name in PACKAGES)
    roots = [Path(place) for spec in found if spec is not None for place in spec.submodule_search_locations or ()]
    return tuple(dict.fromkeys(pair for root in roots for pair in folder_pairs(root)))


def folder_pairs(root: Path) -> tuple[Pair, ...]:
    """The pairs of all files below a folder, each once, in the order of the files' names."""
    files = (path for path in sorted(root.rglob("*.py")) if not LEFT_OUT & set(path.relative_to(root).parts))
    return tuple(dict.fromkeys(pair for path in files for pair in file_pairs(path)))


def file_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of one file; none where it cannot be read as Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old escapes in strings
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text and (parts := summary_and_rest(text)):
                yield Pair(f"{_headline(node)} : {parts[1]}", parts[0])


def summary_and_rest(text: str) -> tuple[str, str] | None:
    """The first sentence of a docstring and the rest, each as one line; None where one is too short or too long.

    A sentence ends at a full stop, a question or an exclamation mark with a space behind it, or at a blank line.
    """
    end = _END_OF_SENTENCE.search(text)
    if end is None:
        return None
    summary, rest = (" ".join(part.split()) for part in (text[: end.end()], text[end.end() :]))
    words = rest.split(" ")
    if len(summary.split()) not in SUMMARY or len(words) < FEWEST_WORDS:
        return None
    return summary, " ".join(words[:MOST_WORDS])


def _headline(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    arguments = node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return f"{node.name} ({', '.join(name for name in names if name not in ('self', 'cls'))})"


CORPORA = {
    "docstrings": NamedCorpus(
        msg("docstrings of Python's standard library (Python licence), read on this machine"),
        "Python's standard library",
        lambda split, folder: divide(library_pairs(), split, _PARTS),
    ),
    "docstrings-more": NamedCorpus(
        msg("docstrings of Python's library, torch, sympy, networkx and numpy (their licences), read on this machine"),
        "Python's packages",
        _more_pairs,
    ),
}
