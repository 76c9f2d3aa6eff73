"""What the parts of a language model cost, by formula. No torch here."""

from collections.abc import Iterator
from dataclasses import replace

from openwork.cost.part import CostPart, SentenceLengths
from openwork.cost.transformer import IDS, NORMS, attention_part, feedforward_part, masks_of, wiring_parts
from openwork.models.decoder_settings import DecoderSettings

TABLES = {"three-way": 1, "embeddings": 2}  # matrices of (vocabulary, width)


def decoder_parts(s: DecoderSettings, vocabulary: int, lengths: SentenceLengths) -> Iterator[CostPart]:
    """The parts of the model. Of a source all is read but its end, and of that the last token with the target."""
    prompt, m, first = lengths.source - 1, lengths.target, s.stream_start
    row = prompt + m
    yield CostPart("embedding and output", 1, TABLES[s.tying] * first * vocabulary, m * first * vocabulary)
    if s.output_bias:
        yield CostPart("output bias", 1, vocabulary)
    if s.embedding_norm:
        yield CostPart("embedding norm", 1, NORMS[s.normalisation] * first, kept=first * row)
    yield CostPart("embedding dropout", 1, 0, kept=masks_of(s) * first * row, wide=IDS * row)
    if s.positions == "learned":
        yield CostPart("learned positions", 1, s.table_size * first)
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
        yield CostPart("residual projection", 1, first * s.width, first * s.width * row)
        yield CostPart("output projection", 1, s.width * first, row * s.width * first)
