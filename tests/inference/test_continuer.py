"""Continuations for a server: the library's texts, whatever is together in a batch; parts, stop texts, seeds."""

import random
from dataclasses import replace

import pytest

from calling import language_model
from openwork.bundles.bundle import Bundle
from openwork.inference.completer import Completer
from openwork.inference.continuation.continuer import Continuer
from openwork.inference.continuation.text import ContinuedText, Prompt
from openwork.inference.settings import settings_over
from openwork.inference.translator import BatchTranslator
from openwork.text.pieces.kinds import KINDS

LENGTH = 9
PROMPTS = ["a b c", "", "h", "a b c d e f g h a b", "  e", "e "]
LINES = ["Ein Dienst für 20 € täglich", "日本語のテキスト", "𝄞 clef, naïve café", "a b c d e f g h"] * 3


@pytest.fixture(scope="module", params=[{}, {"positions": "learned", "maximum_length": 40}], ids=["any", "learned"])
def bundle(request: pytest.FixtureRequest) -> Bundle:
    return language_model(**request.param)


def library(bundle: Bundle, prompts: list[str], **options: object) -> list[list[str]]:
    """What `openwork complete` writes."""
    given = {"maximum_length": LENGTH, "extra_length": LENGTH} | options
    completer = Completer(BatchTranslator.of(bundle, settings_over(bundle.settings.decoding, given)))
    return [[one.text for one in found] for found in completer.complete(prompts)]


def one_line(text: str) -> str:
    return " ".join(text.splitlines())


def prompts_of(texts: list[str], **more: object) -> list[Prompt]:
    return [replace(Prompt(text, LENGTH), **more) for text in texts]


def test_greedy_texts_are_the_library_s(bundle: Bundle) -> None:
    found = Continuer(bundle).complete(prompts_of(PROMPTS))
    assert [[one_line(one.text)] for one in found] == library(bundle, PROMPTS, beam=1)
    assert len({one.text for one in found}) > 3


def test_samples_are_the_library_s(bundle: Bundle) -> None:
    expected = library(bundle, PROMPTS, samples=3, seed=7, temperature=0.8, top_p=0.9)
    continuer = Continuer(bundle)
    for number in range(3):
        found = continuer.complete(prompts_of(PROMPTS, seed=7, number=number), 0.8, 0.9)
        assert [one_line(one.text) for one in found] == [each[number] for each in expected]


def test_what_is_together_in_a_batch_makes_no_difference(bundle: Bundle) -> None:
    """Other lengths, seeds and stop texts beside it."""
    draw = random.Random(5)
    prompts = [
        Prompt(draw.choice(PROMPTS), draw.randint(1, 20), draw.choice([(), ("a",), (" ", "b c")]), seed=seed)
        for seed in range(30)
    ]
    continuer = Continuer(bundle)
    for temperature in (0.0, 1.0):
        alone = [continuer.complete([prompt], temperature)[0] for prompt in prompts]
        assert continuer.complete(prompts, temperature) == alone
    assert {one.finish for one in alone} == {"stop", "length"}


def test_a_prompt_and_its_continuation_may_fill_the_model() -> None:
    bundle = language_model({"minimum_length": 40}, positions="learned", maximum_length=40)
    full = Prompt("a b c", 40 - len(bundle.tokenizers.source.encode("a b c")))
    found = Continuer(bundle).complete([full, Prompt("a", 3), replace(full, length=2)])
    assert [(one.pieces, one.finish) for one in found] == [(full.length, "length"), (3, "length"), (2, "length")]


def test_parts_joined_are_the_text(bundle: Bundle) -> None:
    shown: dict[int, list[str]] = {}
    found = Continuer(bundle).complete(
        prompts_of(PROMPTS, stops=("g",)), 1.0, show=lambda place, text: shown.setdefault(place, []).append(text)
    )
    assert ["".join(shown.get(place, [])) for place in range(len(PROMPTS))] == [one.text for one in found]
    assert all(part for parts in shown.values() for part in parts)


def test_what_is_given_up_leaves_the_others_as_they_are(bundle: Bundle) -> None:
    continuer = Continuer(bundle)
    whole = continuer.complete(prompts_of(PROMPTS))
    found = continuer.complete(prompts_of(PROMPTS), given_up=lambda: [0, 3])
    assert [one for place, one in enumerate(found) if place not in (0, 3)] == [
        one for place, one in enumerate(whole) if place not in (0, 3)
    ]
    assert found[0].pieces <= 1


@pytest.mark.parametrize("kind", ["byte-level", "byte-pair", "unigram", "wordpiece"])
def test_whole_characters_whatever_the_pieces(kind: str) -> None:
    tokenizer, tried = KINDS[kind].learn(LINES, 400), 0
    for before, after in [("", LINES[0]), ("Ein", " Dienst für 20 €"), ("日本", "語のテキスト𝄞"), ("a ", "b 𝄞𝄞 naïve")]:
        ids, both = tokenizer.encode(before), tokenizer.encode(before + after)
        if both[: len(ids)] != ids:
            continue  # the last piece of the prompt would take in what follows
        tried += 1
        text = ContinuedText(tokenizer, ids, Prompt(before, 1000))
        parts = [text.add(piece) for piece in both[len(ids) :]] + [text.rest()]
        assert "".join(parts) == text.text == after
        assert "\ufffd" not in text.text
    assert tried >= 2


def pieces_of(text: str, **more: object) -> ContinuedText:
    """A continuation of "a" that is this text, by bytes."""
    tokenizer = KINDS["byte-level"].learn(["abc"] * 3, 300)
    continued = ContinuedText(tokenizer, tokenizer.encode("a"), replace(Prompt("a", 1000), **more))
    parts = []
    for piece in tokenizer.encode(text):
        parts.append(continued.add(piece))
        if continued.finish:
            break
    else:
        parts.append(continued.add(tokenizer.end_id))
    assert "".join(parts) == continued.text
    return continued


@pytest.mark.parametrize(
    ("text", "stops", "expected"),
    [
        ("one two three", ("two",), "one "),
        ("one two three", ("three", "two"), "one "),
        ("ababac", ("abac",), "ab"),
        ("one tw", ("two",), "one tw"),
        ("€ and more", ("€",), ""),
        ("a €b", ("b", "€"), "a "),
        ("xy", ("xyz", "y"), "x"),
    ],
)
def test_a_text_ends_before_the_first_stop(text: str, stops: tuple[str, ...], expected: str) -> None:
    found = pieces_of(text, stops=stops)
    assert (found.text, found.finish) == (expected, "stop")


@pytest.mark.parametrize(
    ("text", "expected"), [("  Hello \n there  ", "Hello \n there"), ("Hi <us er <user> you", "Hi <us er"), ("   ", "")]
)
def test_a_reply_has_no_white_space_at_its_ends(text: str, expected: str) -> None:
    assert pieces_of(text, stops=("<user>",), is_reply=True).text == expected


def test_an_incomplete_character_is_shown_at_the_limit() -> None:
    found = pieces_of("b€", length=2)
    assert (found.text, found.finish, found.pieces) == ("b\ufffd", "length", 2)
