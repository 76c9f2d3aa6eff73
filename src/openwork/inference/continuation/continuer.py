"""Continuation of prompts for a server, each with its own seed, stop texts and length, shown while it is found."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch

from openwork.bundles.bundle import Bundle
from openwork.decoding.left_to_right import greedy_search, sample_each
from openwork.decoding.rules import rules_for
from openwork.decoding.scoring import GivenUp, nothing_given_up
from openwork.decoding.settings import DecodingSettings
from openwork.inference.batches import batches, padded
from openwork.inference.continuation.text import ContinuedText, Finish, Prompt
from openwork.inference.engine import Engine, TranslationPrecision

BATCH_TOKENS = 4096  # padded positions of prompts and continuations that are searched together
GREEDY_BELOW = 1e-5  # temperatures that leave nothing to chance, and with which quotients may overflow

Show = Callable[[int, str], None]
"""Gets the place of a prompt and the next part of its continuation."""


@dataclass(frozen=True)
class Continuation:
    """The text after a prompt, the number of its pieces (those of a stop text too), and why it ends."""

    text: str
    pieces: int
    finish: Finish


@dataclass(frozen=True)
class _Row:
    """A prompt among the others, its ids, and the text after it."""

    place: int
    ids: Sequence[int]
    text: ContinuedText


def show_nothing(place: int, text: str) -> None:
    """For continuations that nobody watches."""


class Continuer:
    """Continues prompts with a language model, by greedy search or sampling.

    The bundle's own rules for the next piece hold (`no_repeat`, `repetition_penalty`, `minimum_length`, and in sampling
    `top_k`); its beam does not, nor texts that it requires or forbids.
    """

    def __init__(self, bundle: Bundle, precision: TranslationPrecision = "float32") -> None:
        self.engine = Engine(bundle.model, precision)
        self.tokenizers = bundle.tokenizers
        self.decoding = bundle.settings.decoding

    def complete(
        self,
        prompts: Sequence[Prompt],
        temperature: float = 0.0,
        top_p: float = 1.0,
        *,
        show: Show = show_nothing,
        given_up: GivenUp = nothing_given_up,
    ) -> list[Continuation]:
        """The continuation of each prompt. Prompt and continuation together must fit the model's maximum length.

        With the temperature 0, or nearly so, the most probable piece is taken each time. A prompt that is `given_up`,
        by its place, is left at the next step, and what it has by then is no result.
        """
        encoded = self.tokenizers.encode_sources([prompt.text for prompt in prompts])
        rows = [
            _Row(place, ids, ContinuedText(self.tokenizers.target, ids, prompt))
            for place, (prompt, (ids, _)) in enumerate(zip(prompts, encoded, strict=True))
        ]
        lengths = {row.place: len(row.ids) + 1 + row.text.prompt.length for row in rows}
        is_greedy = temperature < GREEDY_BELOW
        drawn = {"samples": 0} if is_greedy else {"samples": 1, "temperature": temperature, "top_p": top_p}
        settings = self.decoding.model_copy(update=drawn)
        for places in batches(lengths, BATCH_TOKENS):
            self._together([rows[place] for place in places], settings, show, given_up)
        return [Continuation(row.text.text, row.text.pieces, row.text.finish or "stop") for row in rows]

    def _together(self, rows: Sequence[_Row], settings: DecodingSettings, show: Show, given_up: GivenUp) -> None:
        """Finds the texts of one batch."""
        longest = max(row.text.prompt.length for row in rows)
        settings = settings.model_copy(update={"maximum_length": longest, "extra_length": longest})

        def left() -> Collection[int]:
            """Those that have ended, or that nobody waits for."""
            gone = given_up()
            return [number for number, row in enumerate(rows) if row.text.finish or row.place in gone]

        def on_token(number: int, piece: int) -> None:
            if new := rows[number].text.add(piece):
                show(rows[number].place, new)

        with torch.inference_mode(), self.engine.computing():
            source, lengths = padded([row.ids for row in rows], self.engine.device)
            model = self.engine.ready()
            if settings.samples:
                draws = [(row.text.prompt.seed, row.text.prompt.number) for row in rows]
                sample_each(model, source, lengths, settings, draws, on_token=on_token, given_up=left)
            else:
                rules = rules_for(settings, None, lengths)
                greedy_search(model, source, lengths, settings, rules, on_token, left)
        for row in rows:
            if row.text.finish is None and (new := row.text.rest()):  # the rules left no way to go on
                show(row.place, new)
