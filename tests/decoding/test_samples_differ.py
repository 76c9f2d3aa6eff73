"""Sampling draws other numbers for other sentences, samples and places, and the same for the same."""

from decoding.tables import TableModel, sources
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings

VOCABULARY = 40
SETTINGS = DecodingSettings(samples=3, best=3, maximum_length=8, extra_length=8, seed=4)


def level(key: int, prefix: tuple[int, ...]) -> list[float]:
    """Every piece is as probable as any other, whatever the sentence: only the random numbers tell samples apart."""
    return [0.0] * VOCABULARY


def sampled(keys: list[int], settings: DecodingSettings = SETTINGS) -> list[list[Hypothesis]]:
    return decode(TableModel(level), *sources(keys, [1] * len(keys)), settings)


def test_sentences_samples_and_places_have_numbers_of_their_own() -> None:
    found = [hypothesis.tokens for sentence in sampled([5, 6, 7, 8]) for hypothesis in sentence]
    # of 12 draws from 40 pieces, eight times in a row, no two are alike but by less than one chance in a million
    assert len({tokens for tokens in found if len(tokens) > 3}) == len([tokens for tokens in found if len(tokens) > 3])
    assert len({tokens[0] for tokens in found if tokens}) > 6
    assert any(len(set(tokens)) > 1 for tokens in found)


def test_a_sentence_has_the_same_samples_anywhere_and_others_with_another_seed() -> None:
    together = sampled([5, 6, 7])
    assert together[1] == sampled([6])[0]
    assert together[::-1] == sampled([7, 6, 5])
    assert sampled([5], SETTINGS.model_copy(update={"seed": 5})) != sampled([5])
