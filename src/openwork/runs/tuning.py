"""Training that starts from a bundle: fine-tuning, and transfer to a model of another kind or task.

Fine-tuning keeps all weights; new pieces get new rows. Transfer takes the weights that match by name and shape, the
rest is fresh: an encoder that has learnt to translate can read for a classifier, one that has filled in masked pieces
can tag. The source keeps its tokenizer, on which the first layer depends; the target gets one of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.base.sources import SourceEncoder
from openwork.bundles.bundle import read_weights
from openwork.bundles.folder import whole_bundle
from openwork.bundles.quantised import rounded
from openwork.bundles.settings import encoder_of, read_bundle_settings
from openwork.models.build import build_model
from openwork.models.families import ModelSettings, reads
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import empty_weights, model_weights, restore_weights
from openwork.nn.features import positions_of_grid
from openwork.nn.normalisation import running_statistics
from openwork.runs.file.settings import RunSettings
from openwork.runs.usable import usable_bundle
from openwork.signals.patches import PicturePatches
from openwork.text.pair import TokenizerPair, with_target
from openwork.text.tokenizer import Tokenizer
from openwork.training.computing.rounding import Rounding
from openwork.training.settings import FineTuningSettings
from openwork.training.trained_weights import adapt, adapters, freeze, freeze_all_but_adapters, group_layers

SYMBOLS = 4  # a vocabulary of nothing else, where only names matter
# The beginning of the names of parts whose tables have a row for each of the source's pieces; others are the target's.
SOURCE_SIDE = "source"


class LoadedWeights(NamedTuple):
    """The names of the weights that come from a bundle, and of those that are fresh."""

    loaded: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pretrained:
    """The bundle that a training starts from."""

    folder: Path
    model: ModelSettings
    tokenizers: TokenizerPair

    @classmethod
    def of(cls, path: str) -> "Pretrained":
        """Finds the bundle and checks that it is whole, and that its settings and its weights belong together."""
        folder = whole_bundle(usable_bundle(Path(path)))
        settings, _ = read_bundle_settings(folder, Path(path))
        found = cls(folder, settings.model, TokenizerPair.load(folder, encoder_of(settings)))
        with empty_weights():  # before a model of its sizes takes memory
            restore_weights(_built(found.model, found.tokenizers), read_weights(folder), path)
        return found

    def is_other(self, settings: ModelSettings) -> bool:
        """Whether the kind of model or its task is another, so that not all weights can be the bundle's.

        One that classifies pictures counts as another: it is given other labels, and pictures of another size.
        """
        own, task = self.model, getattr(settings, "task", None)
        labels_pictures = reads(settings) == "pictures" and task == "classify"
        return own.kind != settings.kind or getattr(own, "task", None) != task or labels_pictures

    def tokenizers_for(self, settings: RunSettings, sources: Iterable[str], targets: Iterable[str]) -> TokenizerPair:
        """The bundle's, with new pieces; for another kind of model the source's alone, and a target's of its own."""
        if (encoder := encoder_of(settings)) is not None:
            if self.is_other(settings.model):
                return with_target(encoder, targets, settings.text)
            target, new_pieces = self.tokenizers.target, settings.fine_tuning.new_pieces
            if new_pieces:
                target = target.extended(targets, target.vocabulary_size + new_pieces)
            return TokenizerPair(encoder, target)
        new_pieces, source = settings.fine_tuning.new_pieces, self.tokenizers.source
        if not self.is_other(settings.model):
            return extended_pair(self.tokenizers, sources, targets, new_pieces)
        if new_pieces:
            source = source.extended(sources, source.vocabulary_size + new_pieces)
        return with_target(source, targets, settings.text)

    def load_into(self, model: SequenceModel, tokenizers: TokenizerPair, settings: ModelSettings) -> LoadedWeights:
        """Gives a model of these tokenizers the bundle's weights, or those that match another kind of model."""
        weights, path = read_weights(self.folder), str(self.folder)
        weights = with_positions(weights, self.tokenizers.encoder, tokenizers.encoder)
        if self.is_other(settings):
            matching = self.matching_weights(weights, settings, tokenizers)
            return load_matching(model, grown(matching, model, self.tokenizers, tokenizers), path)
        restore_weights(model, grown(weights, model, self.tokenizers, tokenizers), path)
        return LoadedWeights(tuple(model_weights(model)))

    def matching_weights(
        self, weights: Mapping[str, Tensor], settings: ModelSettings, tokenizers: TokenizerPair
    ) -> dict[str, Tensor]:
        """The bundle's weights that a model with other settings has under the same name and in the same shape.

        A table with rows for the source's pieces may have grown; one for the target's pieces is taken only where these
        are the bundle's own.
        """
        target, sources = tokenizers.target, tokenizers.sizes[0]
        refused = set[str]()
        with empty_weights():
            stored, new = _built(self.model, self.tokenizers), _built(settings, tokenizers)
            if not tokenizers.shared and target.fingerprint != self.tokenizers.target.fingerprint:
                larger = dict(build_model(settings, sources, target.vocabulary_size + 1).named_parameters())
                refused = {name for name, weight in new.named_parameters() if weight.shape != larger[name].shape}
        first = {id(weight): name for name, weight in stored.named_parameters()}  # a shared one has one stored name
        names = {name: first[id(weight)] for name, weight in stored.named_parameters(remove_duplicate=False)}
        found: dict[str, Tensor] = {}
        for name, weight in _learnt(new).items():
            known, shape = weights.get(names.get(name, name)), weight.shape
            if known is None or name in refused:
                continue
            more_rows = self.tokenizers.sizes[0] == known.shape[0] < shape[0] == sources
            if known.shape == shape or (known.shape[1:] == shape[1:] and more_rows):
                found[name] = known
        return found


def with_positions(weights: Mapping[str, Tensor], before: SourceEncoder, now: SourceEncoder) -> Mapping[str, Tensor]:
    """The weights with learned positions for pictures of another size (Dosovitskiy et al. 2021, section 3.2)."""
    if not (isinstance(before, PicturePatches) and isinstance(now, PicturePatches)):
        return weights
    grids = before.settings.grid, now.settings.grid
    resized = {
        name: positions_of_grid(table, *grids)
        for name, table in weights.items()
        if name.startswith("source_positions.") and name.endswith("table.weight") and grids[0] != grids[1]
    }
    return {**weights, **resized}


def _built(settings: ModelSettings, tokenizers: TokenizerPair) -> SequenceModel:
    return build_model(settings, *tokenizers.sizes)


def _learnt(model: SequenceModel) -> dict[str, Tensor]:
    """Weights, and the running statistics that the weights of a batch norm depend on."""
    return {**dict(model.named_parameters()), **running_statistics(model)}


def load_matching(model: SequenceModel, found: Mapping[str, Tensor], folder: str) -> LoadedWeights:
    """Copies the weights into the model. ConfigError where there are none."""
    own = _learnt(model)
    if not found:
        raise ConfigError(
            f"fine_tuning.from_bundle: no weight of {folder} fits this model",
            why="weights are taken by name and shape, and none has both",
            hint="give the model the sizes of the bundle, such as its width and heads; openwork info shows them",
            code="C090",
        )
    with torch.no_grad():
        for name, tensor in found.items():
            own[name].copy_(tensor)
    return LoadedWeights(tuple(found), tuple(name for name in own if name not in found))


def begin_tuning(
    settings: RunSettings,
    model: SequenceModel,
    tokenizers: TokenizerPair,
    report: Callable[[str], None],
    *,
    resumed: bool = False,
) -> None:
    """Gives the model the bundle's weights and adapters, and freezes the frozen parts.

    `resumed`: its weights will come from a checkpoint; adapters, frozen parts and zeros are the same as at first.
    """
    tuning, weights = settings.fine_tuning, LoadedWeights()
    if tuning.from_bundle is not None and (not resumed or tuning.low_rank or tuning.keep_zeros):
        weights = Pretrained.of(tuning.from_bundle).load_into(model, tokenizers, settings.model)
        if not resumed:
            report(f"beginning with the weights of {tuning.from_bundle}")
        if weights.fresh and not resumed:
            report(f"loaded from it: {_parts(weights.loaded)}; fresh: {_parts(weights.fresh)}")
    frozen = made_tunable(model, tuning, weights.fresh)
    if tuning.low_rank:
        learning = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
        report(f"adapters of rank {tuning.low_rank} on {len(adapters(model)):,} layers: {learning:,} weights learn")
    if tuning.quantise:
        report(f"every pass computes with matrices rounded to {tuning.quantise}, which the bundle will have")
    if frozen:
        report(f"frozen: {frozen / 1e6:.2f} million weights")


def rounding_of(tuning: FineTuningSettings) -> Rounding | None:
    """What the weights become in every pass, in validation and in the bundle."""
    return None if tuning.quantise is None else partial(rounded, kind=tuning.quantise)


def _parts(names: Sequence[str]) -> str:
    """The parts of the model that these weights belong to."""
    return ", ".join(dict.fromkeys(name.partition(".")[0] for name in names)) or "nothing"


def made_tunable(model: SequenceModel, tuning: FineTuningSettings, fresh: Sequence[str] = ()) -> int:
    """Adds the adapters and freezes the frozen weights; returns how many numbers are frozen."""
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
    """The weights, with rows for the new pieces where the model has more rows.

    Booleans about each piece are no weights: they stay the model's own, which knows all pieces.
    """
    own, found = model_weights(model), dict(weights)
    for name in weights.keys() & own.keys():
        side = "encoder" if is_of_source(name) else "target"
        old, new, tensor, larger = getattr(before, side), getattr(now, side), weights[name], own[name]
        if tensor.dtype == torch.bool:
            found[name] = larger
        elif (
            tensor.ndim == larger.ndim > 0
            and tensor.shape[1:] == larger.shape[1:]
            and old.size == tensor.shape[0] < larger.shape[0]
        ):
            found[name] = torch.cat((tensor, new_rows(tensor, old, new)))
    return found


def is_of_source(name: str) -> bool:
    """Whether the weight of this name, where it has a row for each piece, has those of the source."""
    return any(part.startswith(SOURCE_SIDE) for part in name.split("."))


def new_rows(table: Tensor, before: Tokenizer, now: Tokenizer) -> Tensor:
    """For each new piece the mean of the rows of the pieces that its text was cut into before."""
    numbers = range(before.vocabulary_size, now.vocabulary_size)
    texts = now.decode_batch([number] for number in numbers)
    rows = [table[ids].mean(dim=0) if ids else table.mean(dim=0) for ids in before.encode_batch(texts)]
    return torch.stack(rows) if rows else table[:0]


def check_fine_tuning(settings: RunSettings) -> None:
    """ConfigError for frozen or grouped parts that the model lacks, and for new pieces that could not be learnt."""
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
