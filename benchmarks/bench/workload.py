"""The work that all are given: the same sentence pairs as the same pieces in the same batches.

Everything is written by openwork once, into files that peers read: batches as arrays, and the pieces as text in which
each piece is its number, so that any toolkit can take them as words of a given vocabulary.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.config import read_run
from openwork.base.folders import atomic_folder
from openwork.cost.cost import cost_of
from openwork.data.batching import Batch, BatchPlan, assemble
from openwork.data.store import TokenSide, TokenStore
from openwork.models.settings import TransformerSettings
from openwork.runs.corpus import prepare_corpus
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.text.tokenizer import SYMBOLS

RUN_FILE = Path(__file__).parent.parent / "shape-s.toml"
EPOCH = 0


@dataclass(frozen=True)
class TrainingWork:
    """Pairs, pieces and shape of the training that is compared."""

    folder: Path
    settings: RunSettings
    store: TokenStore
    vocabulary: int

    @property
    def shape(self) -> dict[str, Any]:
        """The model's sizes, for peers."""
        model = self.settings.model
        assert isinstance(model, TransformerSettings)
        return {
            "vocabulary": self.vocabulary,
            "width": model.width,
            "layers": model.encoder_layers,
            "heads": model.heads,
            "feedforward": model.feedforward_width,
            "dropout": model.dropout,
        }

    @property
    def flops_per_token(self) -> float:
        """What one real target token costs to train by formula, forward and backward, its share of the source too."""
        lengths = {
            "source_length": round(float(np.mean(self.store.source.lengths))) + 1,
            "target_length": round(float(np.mean(self.store.target.lengths))) + 1,
        }
        return cost_of(self.settings.model, self.vocabulary, **lengths).training_flops


def training_settings(assignments: Sequence[str]) -> RunSettings:
    """The run file of shape S with these changes."""
    return resolve_run(read_run(RUN_FILE, assignments, {}))


def prepare_training(folder: Path, assignments: Sequence[str], say: Callable[[str], None]) -> TrainingWork:
    """Reads the corpus, learns the vocabulary and tokenises, unless that is done."""
    settings = training_settings(assignments)
    run = RunFolder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    corpus = prepare_corpus(settings, run, say)
    return TrainingWork(folder, settings, corpus.train, corpus.tokenizers.target.vocabulary_size)


def batches_of(work: TrainingWork, seed: int, count: int) -> list[Batch]:
    """The first batches of a training with this seed: those that `openwork train` takes."""
    plan = BatchPlan.of(work.store, work.settings.batches, seed).epoch(EPOCH)
    return [assemble(work.store, plan[number]) for number in range(min(count, len(plan)))]


def write_round(work: TrainingWork, seed: int, count: int) -> Path:
    """A folder with what the peers train on in the round with this seed.

    batches.npz       source_0, target_0, ...: ids as padded rectangles, each sentence with its end symbol
    pairs.SIDE        the pieces of the pairs of these batches
    all.SIDE          the pieces of all pairs
    vocabulary.*      the numbers of all pieces, as Marian and JoeyNMT want them
    """
    folder = work.folder / f"round-{seed}-{count}"
    if folder.is_dir():
        return folder
    batches = batches_of(work, seed, count)
    rows = np.concatenate([batch.rows for batch in batches])
    with atomic_folder(folder) as partial:
        arrays = {f"source_{number}": batch.source for number, batch in enumerate(batches)}
        arrays |= {f"target_{number}": batch.target_output for number, batch in enumerate(batches)}
        np.savez(partial / "batches.npz", allow_pickle=False, **arrays)
        for side in ("source", "target"):
            tokens = getattr(work.store, side)
            _write_pieces(partial / f"pairs.{side}", tokens, rows)
            _write_pieces(partial / f"all.{side}", tokens, np.arange(len(work.store)))
        _write_vocabularies(partial, work.vocabulary)
    return folder


def _write_pieces(path: Path, side: TokenSide, rows: NDArray[np.integer]) -> None:
    sentences = (side.tokens[side.offsets[row] : side.offsets[row + 1]] for row in rows)
    path.write_text("".join(" ".join(map(str, ids.tolist())) + "\n" for ids in sentences), encoding="utf-8")


def _write_vocabularies(folder: Path, size: int) -> None:
    """As many entries as ours has, so that the models are of one size."""
    pieces = [str(number) for number in range(len(astuple(SYMBOLS)), size)]
    joey = ["<unk>", "<pad>", "<s>", "</s>", *pieces]
    (folder / "vocabulary.txt").write_text("".join(f"{entry}\n" for entry in joey), encoding="utf-8")
    marian = ["</s>", "<unk>", "<none1>", "<none2>", *pieces]
    (folder / "vocabulary.yml").write_text(
        "".join(f"{json.dumps(entry)}: {number}\n" for number, entry in enumerate(marian)), encoding="utf-8"
    )
