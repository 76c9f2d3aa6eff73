"""A small model trained on the spot to translate the sentences of the grammar, by the training that users have."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from openwork.base.config import Layer
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.train import train_bundle
from openwork.study.documents.pronoun_sentences import SEED, Sentence, divided

STEPS = 200
TRAIN, VALID = "train.tsv", "valid.tsv"


def run_settings(folder: Path) -> RunSettings:
    """The run: its pairs lie in the folder."""
    sections = {
        "data": {"tsv": str(folder / TRAIN), "valid_tsv": str(folder / VALID)},
        "text": {"kind": "words", "shared": False, "minimum_frequency": 1},
        "batches": {"tokens": 600},
        "model": {
            "width": 64, "feedforward_width": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 1, "norm": "pre",
            "tying": "target",
        },
        "training": {
            "seed": SEED, "steps": STEPS, "schedule": "inverse-square-root", "learning_rate": 0.004, "warmup": 50,
            "label_smoothing": 0.0, "precision": "float32", "validate_every": STEPS, "validation_sentences": 0,
            "metric": "loss", "average": 1,
        },
        "decoding": {"beam": 1},
    }  # fmt: skip
    return resolve_run(Layer(sections))


@cache
def trained() -> Bundle:
    """The model after its training: some seconds on one core, and the same each time on one machine.

    KeyboardInterrupt: the training was interrupted.
    """
    sentences = divided()
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / TRAIN, sentences.training)
        _write(folder / VALID, (*sentences.animals, *sentences.people))
        if train_bundle(run_settings(folder), folder / "run", lambda _: None).bundle is None:
            raise KeyboardInterrupt
        return load_bundle(folder / "run")


def untrained(bundle: Bundle) -> SequenceModel:
    """A model of the same shape with first weights: those, for the model above, that its training began with."""
    sizes = (side.vocabulary_size for side in (bundle.tokenizers.source, bundle.tokenizers.target))
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(SEED)
        return build_model(bundle.settings.model, *sizes).eval()


def _write(path: Path, sentences: tuple[Sentence, ...]) -> None:
    lines = (f"{' '.join(sentence.words)}\t{sentence.target}\n" for sentence in sentences)
    path.write_text("".join(lines), encoding="utf-8")
