"""openwork distill and backtranslate, from the shell's arguments to a student that translates."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, told
from openwork.bundles.bundle import load_bundle
from openwork.cost.cost import cost_of
from openwork.models.settings import TransformerSettings
from openwork.runs.synthetic.student import student_of

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
FEW = [
    "training.validate_every=2", "training.validation_sentences=2", "training.precision=float32", "training.average=1",
    "batches.tokens=64", "data.held_out=4", "model.width=8", "model.heads=2", "model.feedforward_width=8",
]  # fmt: skip
SET = [word for one in FEW for word in ("--set", one)]


@pytest.mark.parametrize("level", ["sequence", "word", "both"])
def test_a_student_has_its_teachers_vocabulary_and_goes_on_where_it_was(
    call: Call, teacher_folder: Path, pair_files: tuple[Path, Path], tmp_path: Path, level: str
) -> None:
    out = tmp_path / "student"
    files = ["--source", pair_files[0], "--target", pair_files[1]]
    command = ["distill", teacher_folder, *files, "--out", out, "--level", level, *SET]
    done = call(*command, "--steps", "4")
    assert done.code == 0, done.err
    student, teacher = load_bundle(out / "bundle"), load_bundle(teacher_folder)
    assert student.tokenizers.fingerprint == teacher.tokenizers.fingerprint
    assert (out / "teacher" / "target.txt").is_file() == (level != "word")
    assert (out / "stores" / "teacher" / "ids").is_file() == (level != "sequence")
    assert call("translate", out, stdin=b"a b\n").code == 0
    told(call(*command, "--steps", "4"), 1, "this run is finished", f"openwork translate {out}")
    records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    assert any(record["kind"] == "finished" for record in records)


def test_a_pruned_teacher_is_its_own_student(
    call: Call, teacher_folder: Path, pair_files: tuple[Path, Path], tmp_path: Path
) -> None:
    pairs = ["--source", pair_files[0], "--target", pair_files[1]]
    pruned = tmp_path / "pruned"
    assert call("prune", teacher_folder, *pairs, "--feedforward", "8", "--out", pruned).code == 0
    few = [word for one in FEW if not one.startswith("model.") for word in ("--set", one)]
    out = tmp_path / "student"
    done = call("distill", teacher_folder, "--from-bundle", pruned, *pairs, "--steps", "2", "--out", out, *few)
    assert done.code == 0, done.err
    assert load_bundle(out / "bundle").settings.model == load_bundle(pruned).settings.model
    assert "beginning with the weights of" in done.err


def test_what_is_not_given_is_asked_for(call: Call, teacher_folder: Path, pair_files: tuple[Path, Path]) -> None:
    source = ["--source", pair_files[0]]
    told(call("distill", "--out", "out", *source), 2, "no bundle was named")
    told(call("distill", teacher_folder, "--out", "out"), 2, "name the sentences to translate")
    told(call("distill", teacher_folder, "--out", "out", *source, "--nearest", "2"), 2, "need the targets", "--target")
    told(call("distill", teacher_folder, "--out", "out", *source, "--level", "word"), 2, "need the targets", "--target")
    told(call("distill", teacher_folder, "--out", "out", *source, "--rehearse", "3"), 2, "--rehearse goes with train")
    told(call("backtranslate", "--out", "out", *source), 2, "no bundle was named")


def test_teachers_are_for_models_that_translate(
    call: Call, teacher_folder: Path, pair_files: tuple[Path, Path], tmp_path: Path
) -> None:
    run = ["train", "--source", pair_files[0], "--target", pair_files[1], "--out", tmp_path / "out", "--set"]
    teacher = f"distillation.teachers=['{teacher_folder}']"
    one_side = ["--set", "data.side=target", "--set", "model.kind=decoder", "--set", "training.metric=loss"]
    told(call(*run, teacher, *one_side), 3, "distillation.teachers are for models that translate")
    told(call(*run, teacher, *SET), 3, "the vocabulary of the teacher is not that of this training", "text.source_file")


def test_back_translations_are_pairs_to_train_on(
    call: Call, teacher_folder: Path, pair_files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "back"
    command = ["backtranslate", teacher_folder, "--source", pair_files[0], "--out", out, "--tag", "<BT>"]
    done = call(*command, "--samples", "1", "--seed", "3")
    assert done.code == 0, done.err
    assert done.lines[0].startswith("pairs written: ")
    sources, targets = ((out / name).read_text().splitlines() for name in ("source.txt", "target.txt"))
    assert len(sources) == len(targets) > 0 and all(source.startswith("<BT> ") for source in sources)
    assert set(targets) <= set(pair_files[0].read_text().splitlines())
    assert call(*command, "--samples", "1", "--seed", "3").lines == done.lines
    told(call(*command, "--samples", "1", "--seed", "4"), 3, "made otherwise: translation")
    shown = call("train", "--source", out / "source.txt", "--target", out / "target.txt", "--plan")
    assert shown.code == 0, shown.err


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_a_student_has_its_share_of_the_operations(share: float) -> None:
    teacher = TransformerSettings(width=256, feedforward_width=1024, heads=4, encoder_layers=3, decoder_layers=3)
    found = student_of(teacher, (4000, 4000), share)
    student = TransformerSettings.model_validate(found)
    whole, part = (cost_of(one, 4000, 4000).forward_flops for one in (teacher, student))
    assert 0.8 * share < part / whole <= share
    assert (student.encoder_layers, student.decoder_layers) == (3, 1)
