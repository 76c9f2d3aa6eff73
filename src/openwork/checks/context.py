"""The bundle that is verified, and the sentences it is tested with."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.checks.sources import ProbeSources, sources_of
from openwork.inspection.parting import TARGET, DivergencePlace
from openwork.models.interfaces import SequenceModel
from openwork.text.tokenizer import SYMBOL_NAMES, Tokenizer

MOST_GOLDEN, LONGEST_GOLDEN = 3, 32  # golden examples that are used, and pieces of each side
# Of sources and targets of random pieces. The last is longer than short attention (`nn/kernels/fused.py`) and the
# initial size of a cache (`inference/prepared/caches.py`).
RANDOM_LENGTHS = ((2, 7), (11, 5), (70, 66))
LEVEL = 20  # pieces of sentences of one length: enough for a fast kernel
SEED = 20170612


@dataclass(frozen=True)
class Probe:
    """A source as the model reads it, and target ids as the decoder reads them: the start symbol first.

    The source has ids with the end symbol, or numbers (position, features).
    """

    source: Any
    target: tuple[int, ...]


@dataclass(frozen=True)
class Spot:
    """A place for a person: module, sentence (counted from 1), position (from 0) and the piece there."""

    module: str = ""
    side: str = ""
    sentence: int = 0
    position: int = 0
    piece: str = ""


@dataclass(frozen=True)
class VerifyContext:
    """The bundle that is verified. `compiling`: whether to compile the model too, which takes minutes."""

    bundle: Bundle
    compiling: bool = False

    @property
    def model(self) -> SequenceModel:
        return self.bundle.model

    @property
    def device(self) -> torch.device:
        return self.model.output_weight.device

    @cached_property
    def sources(self) -> ProbeSources:
        """How sources are drawn and come into a batch."""
        return sources_of(self.bundle.tokenizers.encoder)

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        """Golden examples and random pieces, since a model may be wrong only on unusual input."""
        generator = torch.Generator().manual_seed(SEED)
        sizes = [(self.within(source), self.within(target)) for source, target in RANDOM_LENGTHS]
        golden = self.bundle.golden[:MOST_GOLDEN]
        pairs = self.bundle.tokenizers.encode_pairs([g.source for g in golden], [g.translation for g in golden])
        most, numbers = self.within(LONGEST_GOLDEN) - 1, (len(SYMBOL_NAMES), self.bundle.tokenizers.sizes[1])
        found = [
            Probe((*source[:most], SYMBOL_IDS.end), (SYMBOL_IDS.start, *target[:most]))
            for source, target in pairs
            if target
        ]
        for source_length, target_length in sizes:
            source = self.sources.drawn(source_length, generator)
            target = torch.randint(*numbers, (target_length - 1,), generator=generator).tolist()
            found.append(Probe(source, (SYMBOL_IDS.start, *target)))
        return tuple(found)

    @cached_property
    def level_probes(self) -> tuple[Probe, ...]:
        """The same probes, each cut or repeated to one length, so that none is padded."""
        source, target = self.within(LEVEL), self.within(LEVEL - 2)
        return tuple(
            Probe(self.sources.level(one.source, source), (SYMBOL_IDS.start, *_fill(one.target[1:], target - 1)))
            for one in self.probes
        )

    def other(self, token: int, *, target: bool = True) -> int:
        """Another piece of the side's vocabulary, no symbol."""
        pieces = self.bundle.tokenizers.sizes[target] - len(SYMBOL_NAMES)
        return len(SYMBOL_NAMES) + (token + 1) % pieces

    def spot(self, place: DivergencePlace, probe: Probe, sentence: int) -> Spot:
        """The place with the sentence's number and the piece's name."""
        on_target = place.side == TARGET
        ids = probe.target if on_target else probe.source
        tokenizer = self.bundle.tokenizers.target if on_target else self.bundle.tokenizers.encoder
        piece = ""
        if isinstance(tokenizer, Tokenizer) and place.position < len(ids):
            piece = tokenizer.piece(ids[place.position])
        return Spot(place.module, place.side, sentence + 1, place.position, piece)

    def spot_of_target(self, probe: Probe, sentence: int, position: int) -> Spot:
        """A position of a target, in an unknown module."""
        return self.spot(DivergencePlace("", TARGET, position), probe, sentence)

    def within(self, length: int) -> int:
        """`length`, or the maximum length of a model with learned positions; half of it where a target continues."""
        most = self.model.maximum_length
        return length if most is None else min(length, most // (1 + self.model.continues))


def _fill(ids: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple(ids[number % len(ids)] for number in range(size))
