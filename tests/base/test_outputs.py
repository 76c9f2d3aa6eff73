"""The rule of outputs by itself, and that it knows openwork's own folders by what is written."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from journeys.command import tree
from openwork.base.errors import UsageError
from openwork.base.outputs import (
    BUNDLE,
    EVALUATION,
    EXPORT,
    FolderKind,
    check_apart,
    check_file,
    check_folder,
    check_new_folder,
    is_page,
    is_run,
)
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.evaluation.saved import SavedEvaluation, write_evaluation
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.interop.forms import write_hugging_face_folder
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings

LINES = ["a b c", "d e"]


def separate(bundle: Bundle) -> Bundle:
    """The same model with two tokenizers of one size, as long as nobody translates with it."""
    other = train_pair(LINES, LINES, TextSettings(vocabulary_size=400))
    return replace(bundle, tokenizers=TokenizerPair(bundle.tokenizers.source, other.source))


def evaluated(folder: Path, _: Bundle) -> None:
    write_evaluation(folder, SavedEvaluation(LINES, LINES, LINES, "en", {"scores": []}))


@pytest.mark.parametrize("change", [lambda bundle: bundle, separate], ids=["shared", "separate"])
@pytest.mark.parametrize(
    ("kind", "write"),
    [
        (BUNDLE, write_bundle),
        (EVALUATION, evaluated),
        (EXPORT, write_hugging_face_folder),
        (EXPORT, write_ctranslate2),
    ],
    ids=["bundle", "evaluation", "hf", "ct2"],
)
def test_what_is_written_is_known_as_its_kind_and_as_no_other(
    tiny_bundle: Bundle,
    tmp_path: Path,
    kind: FolderKind,
    write: Callable[[Path, Bundle], None],
    change: Callable[[Bundle], Bundle],
):
    write(tmp_path, change(tiny_bundle))
    assert set(kind.own_in(tmp_path)) == set(tree(tmp_path))
    assert [other for other in (BUNDLE, EVALUATION, EXPORT) if other.is_at(tmp_path)] == [kind]
    (tmp_path / "thesis.tex").touch()
    check_folder(tmp_path, kind, overwrite=True)
    check_folder(tmp_path, kind)
    with pytest.raises(UsageError, match="there already"):
        check_folder(tmp_path, kind, overwrite=False)


def marked(folder: Path, kind: FolderKind, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / kind.mark).write_text(json.dumps({"format": kind.format, "sha256": dict.fromkeys(names, "")}))
    return folder


@pytest.mark.parametrize("content", ["", "[]", "{", "3", '{"format": 1}', '{"format": "openwork"}', "[" * 9_999])
def test_a_file_with_the_name_of_a_mark_is_none(tmp_path: Path, content: str):
    (tmp_path / BUNDLE.mark).write_text(content)
    assert not BUNDLE.is_at(tmp_path)
    with pytest.raises(UsageError, match="--out is a folder with other things in it"):
        check_folder(tmp_path, BUNDLE, overwrite=True)


def test_a_mark_cannot_claim_other_names(tmp_path: Path):
    marked(tmp_path, BUNDLE, "thesis.tex", "../outside", "card.md")
    assert BUNDLE.own_in(tmp_path) == ("bundle.json", "card.md")


def test_an_own_name_that_the_mark_does_not_list_is_a_strangers(tmp_path: Path):
    marked(tmp_path, BUNDLE, "config.toml")
    (tmp_path / "card.md").write_text("mine")
    with pytest.raises(UsageError, match=r"card.md: openwork would replace this, and did not write it"):
        check_folder(tmp_path, BUNDLE, overwrite=True)


def test_new_and_empty_folders_and_what_a_killed_process_left(tmp_path: Path):
    check_new_folder(tmp_path / "new/inner")
    check_new_folder(tmp_path)
    (tmp_path / ".out.4194304.0123abcd.partial").mkdir()
    check_new_folder(tmp_path)
    (tmp_path / ".hidden").touch()
    with pytest.raises(UsageError, match="other things in it"):
        check_new_folder(tmp_path)
    with pytest.raises(UsageError, match="--out is a file"):
        check_new_folder(tmp_path / ".hidden")


def test_outputs_and_what_is_read_lie_apart(tmp_path: Path):
    read, beside = tmp_path / "read", tmp_path / "beside"
    read.mkdir()
    (read / "file").write_text("mine")
    os.link(read / "file", tmp_path / "hard")
    (tmp_path / "soft").symlink_to(read)
    for out in (read, read / "new", read / "new/inner", tmp_path, tmp_path / "soft", tmp_path / "soft/new"):
        with pytest.raises(UsageError, match="this command reads"):
            check_apart(out, [None, beside, read])
    for out in (read / "file", tmp_path / "hard", read, tmp_path):
        with pytest.raises(UsageError, match="this command reads"):
            check_apart(out, [read / "file"])
    check_apart(beside, [read, read / "file", None])
    check_apart(read / "other", [read / "file"])
    check_apart(tmp_path / "reads", [read])  # a name that begins in the same way


def test_nothing_is_put_into_a_bundle_or_among_the_files_of_a_run(tmp_path: Path):
    bundle, run = marked(tmp_path / "bundle", BUNDLE), tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    assert not is_run(run)
    (run / "run.toml").touch()
    assert is_run(run)
    for out in (bundle / "a", bundle / "a/b", run / "checkpoints/step-1/a", run / "bundle", run / "bad-batch.jsonl"):
        with pytest.raises(UsageError, match="lies among the files of"):
            check_apart(out, ())
    for out in (bundle, run, run / "scored"):
        check_apart(out, ())
    check_apart(run / "scored", [run])  # a run's own files are guarded without this
    with pytest.raises(UsageError, match="this command reads"):
        check_apart(run, [run])


def test_a_file_is_new_or_ones_own(tmp_path: Path):
    page = tmp_path / "page"
    check_file(page, is_page)
    page.write_text('<!doctype html><meta name="generator" content="openwork">')
    check_file(page, is_page)
    (tmp_path / "pipe").symlink_to("nowhere")
    (tmp_path / "mine").write_text("mine")
    for name in ("pipe", "mine", "."):
        with pytest.raises(UsageError, match="there already"):
            check_file(tmp_path / name, is_page)
    with pytest.raises(UsageError, match="this command reads"):
        check_file(page, is_page, [page])
