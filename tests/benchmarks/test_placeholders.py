"""benchmarks/placeholders.py: what counts as kept, worked by hand, and its figures of a bundle."""

import json
import random
import sys
from pathlib import Path

import placeholders
import pytest


def test_a_text_is_kept_with_all_of_its_placeholders_as_often() -> None:
    sources = ["%s a %s", "a {name} b", "<b>a</b>", "a"]
    assert placeholders.kept(sources, ["%s x %s", "{name}", "<b>x</b>", "x"]) == 1
    assert placeholders.kept(sources, ["%s x", "{name} {name}", "x</b>", "x"]) == 0.25


def test_a_placeholder_comes_between_two_words() -> None:
    found = {placeholders.somewhere("a b c", random.Random(seed)) for seed in range(20)}
    assert found == {"a {name} b c", "a b {name} c"}


def test_its_figures(bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("source", "target"):
        (tmp_path / name).write_text("a b c d e\nf g h a b\n")
    arguments = ["", tmp_path / "source", tmp_path / "target", f"one={bundle_folder}", "--results", tmp_path / "found"]
    monkeypatch.setattr(sys, "argv", list(map(str, arguments)))
    placeholders.main()
    found = json.loads((tmp_path / "found").read_text())
    assert found["texts"] == 2 and set(found["bundles"]["one"]) == {"bleu", "as_learnt", "as_learnt_bleu", "anywhere"}
