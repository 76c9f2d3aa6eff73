"""What the parts of a language model cost, by formula. No torch here."""

from collections.abc import Iterator
from dataclasses import replace

from openwork.models.decoder_settings import DecoderSettings
from openwork.systems.cost_part import Lengths, Part
from openwork.systems.cost_transformer import (
    IDS,
    NORMS,
    attention_part,
    feedforward_part,
    masks_of,
    wiring_parts,
)

TABLES = {"three-way": 1, "embeddings": 2}  # matrices of (vocabulary, width)


def decoder_parts(s: DecoderSettings, vocabulary: int, lengths: Lengths) -> Iterator[Part]:
    """The parts of the model. Of a source all is read but its end, and of that the last token with the target."""
    prompt, m, first = lengths.source - 1, lengths.target, s.stream_start
    row = prompt + m
    yield Part("embedding and output", 1, TABLES[s.tying] * first * vocabulary, m * first * vocabulary)
    if s.output_bias:
        yield Part("output bias", 1, vocabulary)
    if s.embedding_norm:
        yield Part("embedding norm", 1, NORMS[s.normalisation] * first, kept=first * row)
    yield Part("embedding dropout", 1, 0, kept=masks_of(s) * first * row, wide=IDS * row)
    if s.positions == "learned":
        yield Part("learned positions", 1, s.table_size * first)
    for count, width in ((1, first), (s.layers - 1, s.width)):
        if not count:
            continue
        yield attention_part(s, "self-attention", count, (width, m), (width, row), past=prompt)
        if prompt > 0:  # read by itself, with the same weights
            reading = attention_part(s, "self-attention, prompt", count, (width, prompt), (width, prompt))
            yield replace(reading, weights=0)
    yield feedforward_part(s, "feed-forward", s.layers, row)
    yield from wiring_parts(s, "row", s.layers, row)
    if first != s.width:
        yield Part("residual projection", 1, first * s.width, first * s.width * row)
        yield Part("output projection", 1, s.width * first, row * s.width * first)
