"""What to type where characters have no piece: with it they have one."""

from random import Random

import pytest

from openwork.base.config import Layer, apply_assignments
from openwork.data.records import Pair
from openwork.runs.file.resolve import resolve_run
from openwork.runs.preflight.coverage import remedy_of, unknown_ids
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

DRAW = Random(2)
PAIRS = [Pair("".join(chr(0x4E00 + int(500 * DRAW.random() ** 2)) for _ in range(8)), "a b") for _ in range(900)]


def share_of_bytes(text: TextSettings) -> float:
    tokenizer = train_pair([pair.source for pair in PAIRS], [pair.target for pair in PAIRS], text).source
    ids = [number for pair in PAIRS for number in tokenizer.encode(pair.source)]
    return sum(number in unknown_ids(tokenizer) for number in ids) / len(ids)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_the_remedy_is_what_to_type(shared: bool) -> None:
    text = TextSettings(vocabulary_size=400, shared=shared)
    remedy = remedy_of(text, PAIRS)
    typed = remedy.split("--set ")[1:]
    data = {"data": {"corpus": "copy"}, "text": {"vocabulary_size": 400, "shared": shared}, "model": {"tying": "none"}}
    better = resolve_run(apply_assignments(Layer(data), [one.strip() for one in typed])).text
    assert share_of_bytes(text) > 0.3 and share_of_bytes(better) < 0.03
    assert remedy_of(better, PAIRS) == ""


def test_no_remedy_where_the_vocabulary_is_given_or_has_no_alphabet() -> None:
    assert remedy_of(TextSettings(kind="byte-level", vocabulary_size=400), PAIRS) == ""
    assert remedy_of(TextSettings(source_file="x.json"), PAIRS) == ""
    assert remedy_of(TextSettings(vocabulary_size=300), [Pair("abc", "abd")] * 20) == ""
