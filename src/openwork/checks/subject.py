"""What is verified: a bundle, and the sentences that it is tried on."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.inspection.parting import TARGET, DivergencePlace
from openwork.models.interfaces import SequenceModel
from openwork.text.symbols import SYMBOL_NAMES

MOST_GOLDEN, LONGEST_GOLDEN = 3, 32  # golden examples that are tried, and the pieces of each side that are read
# Of sources and targets in pieces that follow each other by chance. The last is longer than what short attention
# (`nn/kernels/fused.py`) and the first room of a cache (`inference/prepared/caches.py`) serve.
RANDOM_LENGTHS = ((2, 7), (11, 5), (70, 66))
LEVEL = 20  # pieces of sentences of one length: so many that a fast kernel has enough to do
SEED = 20170612


@dataclass(frozen=True)
class Probe:
    """Source ids with the end symbol, and target ids as the decoder reads them: the start symbol first."""

    source: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True)
class Spot:
    """A place in words: the module, the sentence (counted from 1), the position (from 0) and the piece there."""

    module: str = ""
    side: str = ""
    sentence: int = 0
    position: int = 0
    piece: str = ""


@dataclass(frozen=True)
class VerifyContext:
    """A bundle on trial. `compiling`: whether the time for a compiled model is to be spent."""

    bundle: Bundle
    compiling: bool = False

    @property
    def model(self) -> SequenceModel:
        return self.bundle.model

    @property
    def device(self) -> torch.device:
        return self.model.output_weight.device

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        """Golden examples, and pieces by chance, since a model may be wrong where nothing usual leads it."""
        generator = torch.Generator().manual_seed(SEED)
        sizes = [(self.within(source), self.within(target)) for source, target in RANDOM_LENGTHS]
        return (*self._golden_probes(), *(self._random(*size, generator) for size in sizes))

    @cached_property
    def level_probes(self) -> tuple[Probe, ...]:
        """The same, each cut or repeated to one length, so that none is padded."""
        source, target = self.within(LEVEL), self.within(LEVEL - 2)
        return tuple(
            Probe(
                (*_fill(one.source[:-1], source - 1), SYMBOL_IDS.end),
                (SYMBOL_IDS.start, *_fill(one.target[1:], target - 1)),
            )
            for one in self.probes
        )

    def other(self, token: int, *, target: bool = True) -> int:
        """Another real piece of the side's vocabulary."""
        real = self._size(target) - len(SYMBOL_NAMES)
        return len(SYMBOL_NAMES) + (token + 1) % real

    def tensor(self, rows: list[list[int]]) -> Tensor:
        return torch.tensor(rows, device=self.device)

    def spot(self, place: DivergencePlace, probe: Probe, sentence: int) -> Spot:
        """The place with the sentence's number and the piece's name."""
        on_target = place.side == TARGET
        ids = probe.target if on_target else probe.source
        tokenizer = self.bundle.tokenizers.target if on_target else self.bundle.tokenizers.source
        piece = tokenizer.piece(ids[place.position]) if place.position < len(ids) else ""
        return Spot(place.module, place.side, sentence + 1, place.position, piece)

    def spot_of_target(self, probe: Probe, sentence: int, position: int) -> Spot:
        """A position of a target, of which no module is known."""
        return self.spot(DivergencePlace("", TARGET, position), probe, sentence)

    def _golden_probes(self) -> list[Probe]:
        golden = self.bundle.golden[:MOST_GOLDEN]
        pairs = self.bundle.tokenizers.encode_pairs([g.source for g in golden], [g.translation for g in golden])
        most = self.within(LONGEST_GOLDEN) - 1
        return [
            Probe((*source[:most], SYMBOL_IDS.end), (SYMBOL_IDS.start, *target[:most]))
            for source, target in pairs
            if target
        ]

    def _random(self, source: int, target: int, generator: torch.Generator) -> Probe:
        ids = [
            torch.randint(len(SYMBOL_NAMES), self._size(side), (size - 1,), generator=generator).tolist()
            for side, size in ((False, source), (True, target))
        ]
        return Probe((*ids[0], SYMBOL_IDS.end), (SYMBOL_IDS.start, *ids[1]))

    def _size(self, target: bool) -> int:
        pair = self.bundle.tokenizers
        return (pair.target if target else pair.source).vocabulary_size

    def within(self, length: int) -> int:
        """What a model with learned positions reaches."""
        return length if self.model.maximum_length is None else min(length, self.model.maximum_length)


def changed_from(subject: VerifyContext, probe: Probe, place: int) -> Probe:
    """The same with other tokens in the target from this place on."""
    return replace(probe, target=(*probe.target[:place], *map(subject.other, probe.target[place:])))


def _fill(ids: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The ids again and again until they are so many."""
    return tuple(ids[number % len(ids)] for number in range(size))
