"""Going on from a bundle: its vocabulary with new pieces, its weights with rows for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.bundles.folder import WEIGHTS
from openwork.bundles.settings import read_bundle_settings
from openwork.bundles.versions import whole_bundle
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import empty_weights, model_weights, read_tensors, restore_weights
from openwork.runs.file.settings import RunSettings
from openwork.runs.tuning.transfer import Taken, fitting, is_another, take
from openwork.runs.usable import usable_bundle
from openwork.text.pair import TokenizerPair, with_target
from openwork.text.tokenizer import Tokenizer
from openwork.training.settings import FineTuningSettings
from openwork.training.trained_weights import adapt, adapters, freeze, freeze_all_but_adapters, group_layers

SYMBOLS = 4  # a vocabulary of nothing else, where only names matter
# How the name of a part begins whose tables have a row for each of the source's pieces; all others are the target's.
SOURCE_SIDE = "source"


@dataclass(frozen=True)
class Beginning:
    """The bundle with which a training begins."""

    folder: Path
    tokenizers: TokenizerPair
    model: ModelSettings

    @classmethod
    def of(cls, path: str) -> "Beginning":
        """Finds it and checks that it is whole, and that its settings and its weights are of one model."""
        folder = whole_bundle(usable_bundle(Path(path)))
        model, tokenizers = read_bundle_settings(folder, Path(path))[0].model, TokenizerPair.load(folder)
        sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
        with empty_weights():  # before a model of its sizes takes memory
            restore_weights(build_model(model, *sizes), read_tensors(folder / WEIGHTS), path)
        return cls(folder, tokenizers, model)

    def tokenizers_for(self, settings: RunSettings, sources: Iterable[str], targets: Iterable[str]) -> TokenizerPair:
        """The bundle's, with new pieces; for another kind of model the source's alone, and a target's of its own."""
        if not is_another(self.model, settings.model):
            return extended_pair(self.tokenizers, sources, targets, settings.fine_tuning.new_pieces)
        source = self.tokenizers.source
        if settings.fine_tuning.new_pieces:
            source = source.extended(sources, source.vocabulary_size + settings.fine_tuning.new_pieces)
        return with_target(source, targets, settings.text)

    def put_into(self, model: SequenceModel, tokenizers: TokenizerPair, settings: ModelSettings) -> Taken:
        """Gives a model of these tokenizers the bundle's weights, or those of them that fit another kind of model."""
        weights = read_tensors(self.folder / WEIGHTS)
        if is_another(self.model, settings):
            weights = fitting(weights, self.model, self.tokenizers, settings, tokenizers)
            return take(model, grown(weights, model, self.tokenizers, tokenizers), str(self.folder))
        restore_weights(model, grown(weights, model, self.tokenizers, tokenizers), str(self.folder))
        return Taken(tuple(model_weights(model)), ())


def begin_tuning(
    settings: RunSettings,
    model: SequenceModel,
    tokenizers: TokenizerPair,
    report: Callable[[str], None],
    *,
    resumed: bool = False,
) -> None:
    """Gives the model the bundle's weights and the adapters that are wanted, and takes out of training what is frozen.

    `resumed`: its weights will come from a checkpoint. Which of them are learnt is found out as at first.
    """
    tuning, taken = settings.fine_tuning, Taken((), ())
    if tuning.from_bundle is not None and (not resumed or tuning.low_rank):
        taken = Beginning.of(tuning.from_bundle).put_into(model, tokenizers, settings.model)
        if not resumed:
            report(f"beginning with the weights of {tuning.from_bundle}")
        if taken.fresh and not resumed:
            report(f"taken from it: {taken.parts(taken.taken)}; fresh: {taken.parts(taken.fresh)}")
    frozen = made_tunable(model, tuning, taken.fresh)
    if tuning.low_rank:
        learning = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
        report(f"adapters of rank {tuning.low_rank} on {len(adapters(model)):,} layers: {learning:,} weights learn")
    if frozen:
        report(f"frozen: {frozen / 1e6:.2f} million weights")


def made_tunable(model: SequenceModel, tuning: FineTuningSettings, fresh: Sequence[str] = ()) -> int:
    """With adapters where they are wanted, and without gradients for what stays; how many numbers that are."""
    if tuning.low_rank:
        adapt(model, tuning.low_rank_parts, tuning.low_rank, tuning.low_rank_scale)
        freeze_all_but_adapters(model, fresh)
    return freeze(model, tuning.frozen)


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
    """The weights with rows for the new pieces wherever the model has more rows than they have.

    What is true or false of each piece is no weight: it is the model's own, which was told of all pieces.
    """
    own, found = model_weights(model), dict(weights)
    for name, tensor in weights.items():
        if name in own and tensor.dtype == torch.bool:
            found[name] = own[name]
            continue
        side = "source" if any(part.startswith(SOURCE_SIDE) for part in name.split(".")) else "target"
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
    """ConfigError for parts, frozen or in groups, that the model has not, and for new pieces never to be learnt."""
    tuning, groups = settings.fine_tuning, settings.training.layer_groups
    if not (tuning.frozen or tuning.low_rank or groups):
        return
    with empty_weights():  # the names of the weights, without their memory
        model = build_model(settings.model, SYMBOLS, SYMBOLS)
    made_tunable(model, tuning)
    group_layers(model, groups)
    if tuning.new_pieces and not model.output_weight.requires_grad:
        raise ConfigError(
            "the new pieces could not be learnt: the matrix that holds them is frozen",
            hint="take the embeddings out of fine_tuning.frozen, set fine_tuning.new_pieces = 0, or low_rank = 0",
            code="C042",
        )
