"""openwork translate --source FOLDER --out FOLDER: as standard input has it, shard after shard."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from inference.bulk.folders import TEXTS, plain, write_shards
from journeys.command import Finished, told
from openwork.data.corpora.synthetic import copy
from openwork.inference.bulk.record import NAME

Call = Callable[..., Finished]
WAYS = {
    "plain": [],
    "best": ["--beam", "3", "--best", "2"],
    "json": ["--json"],
    "guard": ["--guard", "--json"],
    "samples": ["--samples", "2", "--seed", "7"],
    "alternatives": ["--alternatives", "1", "--best", "3"],
    "requests": ["--requests"],
    "terms": ["--terms", "terms.tsv"],
    "shortlist": ["--shortlist", "shortlist"],
    "settings": ["--settings", "careful.toml"],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_shard_is_what_standard_input_gives(call: Call, bundle_folder: Path, here: Path, way: str):
    lines = [pair.source for pair in copy("train", 30)]
    texts = {"a.txt": "\n".join([*lines[:20], "", lines[20]]), "b.txt": "\r\n".join(lines[21:])}
    if way == "requests":
        texts = {"a.txt": json.dumps({"text": "a b", "prefix": "b"}) + "\n\nno json\n"}
    folder = write_shards(here / "in", {name: text.encode() for name, text in texts.items()})
    (here / "terms.tsv").write_text("a\tb\n")
    (here / "careful.toml").write_text("[decoding]\nbeam = 3\n")
    if way == "shortlist":
        (here / "train").write_text("\n".join(lines))
        both = ("--source", "train", "--target", "train")
        assert call("shortlist", bundle_folder, *both, "--out", "shortlist").code == 0
    done = call("translate", bundle_folder, "--source", folder, "--out", "out", *WAYS[way])
    assert done.code == 0, done.err
    for name in texts:
        alone = call("translate", bundle_folder, *WAYS[way], stdin=(folder / name).read_bytes())
        assert alone.code == 0 and alone.out
        assert (here / "out" / name).read_bytes() == alone.out


@pytest.mark.slow
def test_the_report_is_printed_once_and_the_command_continues(call: Call, bundle_folder: Path, here: Path):
    folder = write_shards(here / "in", {**TEXTS, "e.txt.gz": TEXTS["b.txt.gz"][:-4]})
    (folder / "inner").mkdir()
    command = ("translate", bundle_folder, "--source", folder, "--out", here / "out")
    done = call(*command)
    told(done, 3, "1 of 5 shards could not be translated", "run the same command again")
    assert done.lines[0] == "shards: 4 of 5 translated, 0 kept from before, 1 failed"
    assert done.lines[1].startswith("lines: 8 in ") and done.lines[1].endswith(" lines a second")
    assert done.lines[2].startswith("failed: ") and "e.txt.gz" in done.lines[2] and len(done.lines) == 3
    assert "inner: no file, passed over" in done.err
    assert plain(here / "out" / "b.txt.gz").count("\n") == 3
    written = {name: (here / "out" / name).stat().st_mtime_ns for name in TEXTS}
    (folder / "e.txt.gz").write_bytes(TEXTS["b.txt.gz"])
    done = call(*command)
    assert done.code == 0 and done.lines[0] == "shards: 1 of 5 translated, 4 kept from before, 0 failed"
    assert {name: (here / "out" / name).stat().st_mtime_ns for name in TEXTS} == written
    told(call(*command, "--beam", "5"), 1, "made otherwise: decoding.beam: 2 -> 5", "name a new folder")


def test_a_folder_of_translations_can_be_translated(call: Call, bundle_folder: Path, here: Path):
    """Our own record in it is no shard."""
    folder = write_shards(here / "in", {"a.txt": b"a b\n"})
    assert call("translate", bundle_folder, "--source", folder, "--out", "one").code == 0
    assert (here / "one" / NAME).is_file()
    assert call("translate", bundle_folder, "--source", "one", "--out", "two", "--json").code == 0
    assert json.loads((here / "two" / "a.txt").read_text())["source"] + "\n" == (here / "one" / "a.txt").read_text()


def test_options_that_do_not_go_together(call: Call, bundle_folder: Path, here: Path):
    folder = write_shards(here / "in")
    both = ("--source", folder, "--out", here / "out")
    told(call("translate", bundle_folder, "--source", folder), 2, "--source and --out go together")
    told(call("translate", bundle_folder, "--out", "out"), 2, "--source and --out go together")
    told(call("translate", bundle_folder, "--column", "text"), 2, "--column needs folders of shards")
    told(call("translate", bundle_folder, "--on", "ray"), 2, "--on needs folders of shards")
    told(call("translate", bundle_folder, *both, "--workers", "2"), 2, "--workers goes with --on ray")
    told(call("translate", bundle_folder, *both, "--address", "host:6379"), 2, "--address goes with --on ray")
    told(call("translate", bundle_folder, *both, "--on", "spark"), 2, "--on")
    told(call("translate", bundle_folder, *both, "--stream"), 2, "--stream does not go with --source")
    assert not (here / "out").exists()


def test_folders_that_will_not_do(call: Call, bundle_folder: Path, here: Path):
    folder = write_shards(here / "in")
    told(call("translate", bundle_folder, "--source", here / "none", "--out", "out"), 3, "no such folder of shards")
    told(
        call("translate", bundle_folder, "--source", folder, "--out", folder), 2, "--out is a folder with other things"
    )
    told(call("translate", bundle_folder, "--source", folder, "--out", folder / "out"), 2, "would write there")
    assert not (here / "out").exists() and not (folder / "out").exists()


@pytest.mark.slow
def test_neither_help_nor_a_plain_translation_imports_ray(bundle_folder: Path):
    program = (
        "import sys\nfrom openwork.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print(*({'ray', 'pyarrow'} & set(sys.modules)), file=sys.stderr)\n"
    )
    for arguments in (["--help"], ["translate", "--help"], ["translate", str(bundle_folder)]):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], input=b"a b\n", capture_output=True, timeout=1500, check=True
        )
        assert done.stderr == b"\n"
