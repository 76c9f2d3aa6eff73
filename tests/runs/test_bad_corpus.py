"""Corpora that cannot be used as they are: one sentence that names file, line, cause and remedy, and nothing begun."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import TINY, Finished, run_file, told

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
Files = tuple[Path, Path]
FILE_RUN = TINY.replace('corpus = "copy"\ncount = 120\n', "")


QUICK = (
    *("training.steps=2", "training.warmup=1", "training.cooldown=0", "training.validation_sentences=5"),
    *("model.width=16", "model.heads=2", "model.feedforward_width=24", "model.encoder_layers=1"),
    *("model.decoder_layers=1", "text.vocabulary_size=400", "decoding.extra_length=4"),
)
CHOSEN = tuple(part for assignment in QUICK for part in ("--set", assignment))
Train = Callable[..., Finished]


@pytest.fixture(params=["run file", "chosen"])
def train(request: pytest.FixtureRequest, call: Call, tmp_path: Path) -> Train:
    """Trains on the two files: with the tiny run file, and with settings chosen from the size of the data.

    Of the latter some are given all the same, so that what trains takes a moment.
    """

    def run(files: Files, *more: str | Path) -> Finished:
        settings = (run_file(tmp_path, FILE_RUN),) if request.param == "run file" else CHOSEN
        return call("train", *settings, "--source", files[0], "--target", files[1], "--out", tmp_path / "out", *more)

    return run


def replace_line(path: Path, number: int, line: bytes) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = line
    path.write_bytes(b"\n".join(lines))


def test_forty_good_pairs_train(train: Train, pair_files: Files, tmp_path: Path):
    """What the tests below spoil works while it is whole."""
    result = train(pair_files)
    assert result.code == 0, result.err
    assert "kept 40 of 40 pairs" in result.err
    assert (tmp_path / "out/bundle/bundle.json").is_file()


def test_unequal_line_counts(train: Train, pair_files: Files, tmp_path: Path):
    with pair_files[1].open("a") as file:
        file.write("x\ny\n")
    told(train(pair_files), 3, "train.en has 40 lines", "train.de has 42 lines", "hint:")
    assert not (tmp_path / "out/checkpoints").exists()


def test_invalid_utf8_is_named_with_its_line(train: Train, pair_files: Files):
    replace_line(pair_files[1], 17, b"Stra\xdfe")
    told(train(pair_files), 3, "train.de:17: invalid UTF-8 (byte 0xDF, byte 5", "iconv")


def test_nul_byte_is_named_with_its_line(train: Train, pair_files: Files):
    replace_line(pair_files[0], 3, b"a \0 b")
    told(train(pair_files), 3, "train.en:3: the line holds a NUL byte", "hint:")


def test_utf16_is_told_from_damage(train: Train, pair_files: Files):
    pair_files[0].write_text(pair_files[0].read_text(), encoding="utf-16")
    told(train(pair_files), 3, "train.en:1: the file is UTF-16", "iconv -f UTF-16")


def test_missing_file_with_the_nearest_name(train: Train, pair_files: Files, tmp_path: Path):
    told(train((tmp_path / "train.eng", pair_files[1])), 3, "train.eng: no such file", "train.en?")


def test_folder_for_a_file(train: Train, pair_files: Files, tmp_path: Path):
    told(train((pair_files[0], tmp_path)), 3, "this is a folder, not a file")


@pytest.mark.parametrize("content", [b"", b"\n\n\n"], ids=["no bytes", "blank lines"])
def test_empty_corpus(train: Train, pair_files: Files, content: bytes):
    for path in pair_files:
        path.write_bytes(content)
    told(train(pair_files), 3, "no sentence pair to train on", "hint:")


def test_blank_lines_are_counted_and_shift_nothing(train: Train, pair_files: Files):
    """The pairs after a blank line still belong together: the validation pairs are exact copies."""
    replace_line(pair_files[0], 4, b"")
    replace_line(pair_files[1], 9, b" \t ")
    result = train(pair_files, "--set", "training.validation_sentences=1")
    assert result.code == 0, result.err
    assert "kept 38 of 40 pairs" in result.err
    assert "dropped 1: source is blank (line 4)" in result.err
    assert "dropped 1: target is blank (line 9)" in result.err
    samples = [line for line in result.err.splitlines() if line.startswith("sample ")]
    source, reference = samples[0].split(" reference=")
    assert reference.startswith(source.removeprefix("sample source="))


def test_line_of_100_000_characters_is_left_out_with_a_count(train: Train, pair_files: Files):
    replace_line(pair_files[0], 12, b"x" * 100_000)
    result = train(pair_files)
    assert result.code == 0, result.err
    assert "dropped 1: longer than 2,000 characters (line 12)" in result.err


def test_line_beyond_all_measure_is_refused_with_its_place(train: Train, pair_files: Files):
    replace_line(pair_files[0], 12, b"x" * 1_100_000)
    told(train(pair_files), 3, "train.en:12: the line is longer than 1,000,000 characters")


def test_damaged_gzip(train: Train, pair_files: Files):
    whole = gzip.compress(pair_files[0].read_bytes())
    pair_files[0].write_bytes(whole[: len(whole) // 2])
    told(train(pair_files), 3, "train.en: the gzip archive is damaged or cut short", "gzip -t")


def test_tsv_with_three_columns(call: Call, tmp_path: Path):
    (tmp_path / "pairs.tsv").write_text("a\tb\nc\td\te\n")
    settings = run_file(tmp_path, FILE_RUN)
    result = call("train", settings, "--set", f"data.tsv={tmp_path}/pairs.tsv", "--out", tmp_path / "out")
    told(result, 3, "pairs.tsv:2: 3 columns where two are needed")


def test_too_few_pairs_to_hold_any_out(train: Train, tmp_path: Path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("one\none\n")
    target.write_text("eins\neins\n")
    told(train((source, target)), 3, "too few pairs to hold some out", "--valid-source")


def test_empty_validation_files(train: Train, pair_files: Files, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.touch()
    result = train(pair_files, "--valid-source", empty, "--valid-target", empty)
    told(result, 3, "nothing to validate with")


def test_unknown_corpus_with_the_nearest_name(call: Call, tmp_path: Path):
    told(
        call("train", "--corpus", "copie", "--out", tmp_path / "out"), 3, "copie: no such corpus", "did you mean copy?"
    )
    assert not (tmp_path / "out").exists()


def test_a_file_name_with_quotes_and_spaces_is_just_a_name(train: Train, pair_files: Files, tmp_path: Path):
    source = pair_files[0].rename(tmp_path / 'a "b" \\ c\n.en')
    assert train((source, pair_files[1])).code == 0


def test_evaluating_on_unequal_files(call: Call, bundle_folder: Path, pair_files: Files):
    with pair_files[0].open("a") as file:
        file.write("x\n")
    result = call("evaluate", "--bundle", bundle_folder, "--source", pair_files[0], "--reference", pair_files[1])
    told(result, 3, "train.en has 41 lines", "train.de has 40 lines")


def test_evaluating_on_nothing(call: Call, bundle_folder: Path, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.touch()
    result = call("evaluate", "--bundle", bundle_folder, "--source", empty, "--reference", empty)
    told(result, 3, "there is nothing to evaluate")


def test_evaluating_on_an_unknown_split(call: Call, bundle_folder: Path):
    result = call("evaluate", "--bundle", bundle_folder, "--corpus", "copy", "--split", "tset")
    told(result, 3, "tset: the corpus copy has no such split", "choose from train, valid, test")


SINGLE_FILES = {
    "a.jsonl": ('{"source": "a", "target": "b"}\n{"source": "a"}\n', "a.jsonl:2: the line has no target"),
    "a.tmx": ("<tmx><header srclang='en'/>\n<tu><tuv><seg>a</seg></tuv></tu></tmx>", "a.tmx:2: the variant has no"),
    "a.xlf": ("<xliff>\n<file></xliff>", "a.xlf:2: the file is not well-formed XML"),
    "a.po": ('msgid "a"\nmsgstr "b"\n\nmsgid "c\n', "a.po:4: the line is not PO"),
    "a.docx": ("a\tb\n", "a.docx: the format of the file is not clear from its name"),
}


@pytest.mark.parametrize("name", SINGLE_FILES)
def test_faults_of_single_files_are_named_with_their_line(call: Call, tmp_path: Path, name: str):
    content, said = SINGLE_FILES[name]
    (tmp_path / name).write_text(content)
    settings = run_file(tmp_path, FILE_RUN)
    result = call("train", settings, "--set", f"data.file={tmp_path / name}", "--out", tmp_path / "out")
    told(result, 3, said, "hint:")
    assert not (tmp_path / "out/checkpoints").exists()


def test_mistakes_in_a_mix_are_named_with_their_own_line(call: Call, tmp_path: Path):
    mix = '[data]\nheld_out = 5\n\n[[data.mix]]\ncorpus = "copy"\n\n[[data.mix]]\n'
    for wrong, said in (
        ('corpus = "copie"\n', "copie: no such corpus"),
        ('corpus = "copy"\nweigth = 2\n', "run.toml:10: unknown key data.mix.1.weigth"),
        ('corpus = "copy"\nweight = -1\n', "run.toml:10: data.mix.1.weight = -1 is not allowed"),
    ):
        settings = run_file(tmp_path, FILE_RUN.replace("[data]\n", mix + wrong, 1))
        told(call("train", settings, "--out", tmp_path / "out"), 3, said, "hint:")
