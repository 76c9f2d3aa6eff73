"""The teachers of a distillation: their probabilities for the targets of a training, computed once and kept.

A teacher is a bundle of any family, or several as an ensemble, whose probability is the mean of theirs. It reads each
pair once, with all of the target at a time (teacher forcing), as in a validation.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.base.files import sha256_values
from openwork.base.messages import msg
from openwork.bundles.folder import find_bundle, read_manifest
from openwork.data.batching import assemble
from openwork.data.soft_targets import SoftTargets, Top, soft_targets
from openwork.data.store import TokenStore
from openwork.decoding.ensemble import Ensemble
from openwork.decoding.scoring import allow
from openwork.inference.batches import batches
from openwork.inference.loading import load_bundles
from openwork.machine.precision import PrecisionName, computing_in
from openwork.models.interfaces import SequenceModel
from openwork.runs.usable import usable_bundle
from openwork.text.pair import TokenizerPair
from openwork.training.settings import DistillationSettings

TOKENS = 2048  # padded target positions that are computed together: each has logits for the whole vocabulary
LINES = 10  # of progress
FOLDER = "teacher"  # in that of the stores


def teacher_targets(
    settings: DistillationSettings,
    store: TokenStore,
    stores: Path,
    tokenizers: TokenizerPair,
    precision: PrecisionName,
    device: torch.device,
    report: Callable[[str], None],
) -> SoftTargets | None:
    """The teachers' probabilities for the targets of the store, in the folder of `stores`; None without teachers.

    BundleError for bundles that cannot be used, ConfigError for those with another vocabulary.
    """
    if not settings.teachers:
        return None
    paths = [usable_bundle(Path(teacher)) for teacher in settings.teachers]
    bundles = load_bundles(paths)
    if bundles[0].tokenizers.fingerprint != tokenizers.fingerprint:
        raise ConfigError(
            f"{settings.teachers[0]}: the vocabulary of the teacher is not that of this training",
            why="probabilities of other pieces cannot be learnt",
            hint="set text.source_file to the teacher's tokenizer.json (with two vocabularies also text.target_file), "
            "as openwork distill does",
            code="C165",
        )
    models = [bundle.model.to(device) for bundle in bundles]
    teacher = Teacher(models[0] if len(models) == 1 else Ensemble(models).eval(), precision, device, settings.top)
    fingerprint = sha256_values([read_manifest(find_bundle(path))["sha256"] for path in paths] + [precision])
    done = shown = 0

    def advanced(count: int) -> None:
        nonlocal done, shown
        done += count
        if LINES * done // max(len(store), 1) > shown:
            shown = LINES * done // len(store)
            report(msg(f"the teacher has read {done:,} of {len(store):,} pairs"))

    return soft_targets(
        stores / FOLDER, store, settings.top, fingerprint, lambda rows: teacher.read(store, rows), advanced
    )


class Teacher:
    """A model or an ensemble, and how it computes."""

    def __init__(
        self, model: SequenceModel | Ensemble, precision: PrecisionName, device: torch.device, top: int
    ) -> None:
        self.model = model.eval()
        self._precision: PrecisionName = precision
        self._device = device
        self._top = top

    @torch.inference_mode()
    def read(self, store: TokenStore, rows: NDArray[np.int64]) -> Top:
        """The largest probabilities for each target token of these rows, end symbols included, in their order."""
        lengths = store.target.offsets[rows + 1] - store.target.offsets[rows] + 1
        found: dict[int, tuple[Tensor, Tensor]] = {}
        for places in batches(dict(enumerate(lengths.tolist())), TOKENS):
            found.update(zip(places, self._distributions(store, rows[places]), strict=True))
        ids, probabilities = zip(*(found[place] for place in range(len(rows))), strict=True)
        return torch.cat(ids).numpy(), torch.cat(probabilities).numpy()

    def _distributions(self, store: TokenStore, rows: NDArray[np.int64]) -> Sequence[tuple[Tensor, Tensor]]:
        """Ids and probabilities (tokens, top) of each of some targets."""
        batch = assemble(store, rows)
        source, lengths, target = (
            torch.from_numpy(numbers).to(self._device)
            for numbers in (batch.source, batch.source_lengths, batch.target_input)
        )
        with computing_in(self._precision, self._device):
            logits, _ = self.model.step(target, self.model.start(source, lengths))
        probabilities, ids = allow(logits.float()).softmax(dim=-1).topk(min(self._top, logits.shape[-1]), dim=-1)
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
        return [
            (row[:length].cpu(), p[:length].cpu())
            for row, p, length in zip(ids, probabilities, batch.target_lengths.tolist(), strict=True)
        ]
