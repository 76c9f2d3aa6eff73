"""Training with JoeyNMT: its own model, loop, loss, clipping and optimiser.

With `batches`, its loop is given the very batches that the others have; without, it makes its own of `pieces`, as its
users have them: it shuffles and does not sort by length.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joeynmt
import numpy as np
import speaking
import torch
from joeynmt.batch import Batch
from joeynmt.config import parse_global_args, set_validation_args
from joeynmt.prediction import prepare
from joeynmt.training import TrainManager

PAD, START, END = 1, 2, 3
OURS_PAD, OURS_START = 0, 2


def configuration(request: dict[str, Any], folder: str) -> dict[str, Any]:
    """Shape S and its training, in JoeyNMT's names."""
    shape = request["shape"]
    side = {"voc_file": request["words"]["joeynmt"], "level": "word", "lowercase": False, "max_length": 250}
    half = {
        "type": "transformer", "num_layers": shape["layers"], "num_heads": shape["heads"],
        "embeddings": {"embedding_dim": shape["width"], "scale": True, "dropout": shape["dropout"]},
        "hidden_size": shape["width"], "ff_size": shape["feedforward"], "dropout": shape["dropout"],
        "layer_norm": "pre",
    }  # fmt: skip
    return {
        "name": "shape-s",
        "model_dir": folder,
        "use_cuda": request["device"] == "cuda",
        "fp16": request["precision"] == "float16",
        "random_seed": 1,
        "data": {
            "train": request["pieces"], "dev": None, "test": None, "dataset_type": "plain",
            "src": {**side, "lang": "source"}, "trg": {**side, "lang": "target"},
        },
        "testing": {"beam_size": 1, "eval_metrics": []},
        "training": {
            "optimizer": "adam", "adam_betas": [0.9, 0.98], "learning_rate": 0.0001, "learning_rate_min": 1e-9,
            "scheduling": "warmupinversesquareroot", "learning_rate_warmup": 500, "loss": "crossentropy",
            "label_smoothing": 0.1, "normalization": "tokens", "clip_grad_norm": 1.0,
            "batch_size": request["tokens"], "batch_type": "token", "epochs": 100,
            "updates": request["updates"], "logging_freq": 100000, "validation_freq": 100000,
            "early_stopping_metric": "loss", "shuffle": True,
        },
        "model": {
            "initializer": "xavier_uniform", "embed_initializer": "xavier_uniform", "tied_embeddings": True,
            "tied_softmax": True, "encoder": half, "decoder": half,
        },
    }  # fmt: skip


class GivenBatches:
    """Stands where JoeyNMT expects its loader of batches."""

    def __init__(self, path: str, device: torch.device) -> None:
        self.path = path
        self.device = device
        self.batch_sampler = self

    def set_seed(self, seed: int) -> None:
        """The batches are what they are."""

    def get_state(self) -> torch.Tensor:
        """Asked for when the loop writes its last checkpoint."""
        return torch.zeros(1)

    def __iter__(self) -> Iterator[Batch]:
        with np.load(self.path) as batches:
            for number in range(len(batches.files) // 2):
                source, target = batches[f"source_{number}"], batches[f"target_{number}"]
                yield self._batch(self._theirs(source), self._theirs(target))

    @staticmethod
    def _theirs(ids: np.ndarray) -> torch.Tensor:
        """Their pad is 1; our ids after the symbols keep their numbers, and so does the end."""
        return torch.from_numpy(np.where(ids == OURS_PAD, PAD, ids).astype(np.int64))

    def _batch(self, source: torch.Tensor, target: torch.Tensor) -> Batch:
        start = torch.full((len(target), 1), START)
        lengths = (source != PAD).sum(1)
        return Batch(
            src=source, src_length=lengths, src_prompt_mask=None, trg=torch.cat([start, target], 1),
            trg_prompt_mask=None, indices=torch.arange(len(source)), device=self.device, pad_index=PAD, eos_index=END,
        )  # fmt: skip


class Manager(TrainManager):
    """Their loop, which tells of each update."""

    def begin(self) -> None:
        """Called before the first batch is made."""
        self._since = time.perf_counter()
        self._tokens = 0

    def _train_step(self, batch: Batch) -> tuple[float, int]:
        self.tell()  # the update before is complete now, optimiser included
        self._tokens = int(batch.ntokens)
        return super()._train_step(batch)

    def tell(self) -> None:
        """Tells of the update that has just ended, unless there was none."""
        now = time.perf_counter()
        if self._tokens:
            speaking.tell_update(self._tokens, now - self._since)
            self._since = now

    def _save_checkpoint(self, new_best: bool, score: float) -> None:
        """What a training writes at its end is not measured."""


def main() -> None:
    request = speaking.hear()
    if request["device"] == "cpu":
        torch.set_num_threads(request["threads"])
    with tempfile.TemporaryDirectory() as folder:
        arguments = parse_global_args(configuration(request, folder), rank=0, mode="train")
        model, data, _, _ = prepare(arguments, rank=0, mode="train")
        weights = sum(weight.numel() for weight in model.parameters())
        speaking.tell("facts", joeynmt=joeynmt.__version__, torch=torch.__version__, weights=weights)
        if request["batches"]:
            data.make_iter = lambda **_: GivenBatches(request["batches"], arguments.device)
        manager = Manager(
            rank=0, model=model, model_dir=Path(folder), device=arguments.device, n_gpu=arguments.n_gpu,
            num_workers=0, autocast=arguments.autocast, seed=1, train_args=arguments.train,
            dev_args=set_validation_args(arguments.test),
        )  # fmt: skip
        manager.begin()
        manager.train_and_validate(train_data=data, valid_data=data)
        manager.tell()
    speaking.tell_end()


main()
