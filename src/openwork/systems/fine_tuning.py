"""Going on from a bundle: its vocabulary with new pieces, its weights with rows for them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.systems.bundle_folder import WEIGHTS
from openwork.systems.bundle_versions import whole_bundle
from openwork.systems.run_file import RunSettings
from openwork.text.pair import TokenizerPair
from openwork.text.tokenizer import Tokenizer
from openwork.training.freezing import freeze
from openwork.training.weights import model_weights, read_tensors, restore_weights

SYMBOLS = 4  # a vocabulary of nothing else, where only names matter
SOURCE_SIDE = "source"  # weights of this name belong to the source's vocabulary, all others to the target's


@dataclass(frozen=True)
class Beginning:
    """The bundle with which a training begins."""

    folder: Path
    tokenizers: TokenizerPair

    @classmethod
    def of(cls, path: str) -> "Beginning":
        """Finds it and checks that it is whole."""
        folder = whole_bundle(Path(path))
        return cls(folder, TokenizerPair.load(folder))

    def put_into(self, model: SequenceModel, tokenizers: TokenizerPair) -> None:
        """Gives a model of these tokenizers the bundle's weights."""
        weights = read_tensors(self.folder / WEIGHTS)
        restore_weights(model, grown(weights, model, self.tokenizers, tokenizers), str(self.folder))


def extended_pair(
    tokenizers: TokenizerPair, sources: Iterable[str], targets: Iterable[str], new_pieces: int
) -> TokenizerPair:
    """The tokenizers with up to `new_pieces` more on each side, or in common; all old pieces keep their ids."""
    if not new_pieces:
        return tokenizers
    source, target = tokenizers.source, tokenizers.target
    if tokenizers.shared:
        both = source.extended(chain(sources, targets), source.vocabulary_size + new_pieces)
        return TokenizerPair(both, both)
    return TokenizerPair(
        source.extended(sources, source.vocabulary_size + new_pieces),
        target.extended(targets, target.vocabulary_size + new_pieces),
    )


def grown(
    weights: Mapping[str, Tensor], model: SequenceModel, before: TokenizerPair, now: TokenizerPair
) -> dict[str, Tensor]:
    """The weights with rows for the new pieces wherever the model has more rows than they have."""
    own, found = model_weights(model), dict(weights)
    for name, tensor in weights.items():
        side = "source" if name.startswith(SOURCE_SIDE) else "target"
        old, new = getattr(before, side), getattr(now, side)
        if name in own and is_grown(tensor, own[name]) and tensor.shape[0] == old.vocabulary_size:
            found[name] = torch.cat((tensor, new_rows(tensor, old, new)))
    return found


def is_grown(before: Tensor, now: Tensor) -> bool:
    """Whether `now` has the shape of `before` with more rows."""
    return before.ndim == now.ndim > 0 and before.shape[1:] == now.shape[1:] and before.shape[0] < now.shape[0]


def new_rows(table: Tensor, before: Tokenizer, now: Tokenizer) -> Tensor:
    """For each new piece the mean of the rows of the pieces that its text was cut into before."""
    numbers = range(before.vocabulary_size, now.vocabulary_size)
    texts = now.decode_batch([number] for number in numbers)
    rows = [table[ids].mean(dim=0) if ids else table.mean(dim=0) for ids in before.encode_batch(texts)]
    return torch.stack(rows) if rows else table[:0]


def check_fine_tuning(settings: RunSettings) -> None:
    """ConfigError for frozen parts that the model has not, and for new pieces that could never be learnt."""
    tuning = settings.fine_tuning
    if not tuning.frozen:
        return
    with torch.device("meta"):  # the names of the weights, without their memory
        model = build_model(settings.model, SYMBOLS, SYMBOLS)
    freeze(model, tuning.frozen)
    if tuning.new_pieces and not model.output_weight.requires_grad:
        raise ConfigError(
            "the new pieces could not be learnt: the matrix that holds them is frozen",
            hint="take the embeddings out of fine_tuning.frozen, or set fine_tuning.new_pieces = 0",
        )
