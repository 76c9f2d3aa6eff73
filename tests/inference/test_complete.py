"""`openwork complete` and `openwork bits`: prompts in, continuations out; bits a character of a text."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from journeys.command import Finished
from openwork.base.errors import DataError
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.data.corpora.synthetic import copy
from openwork.data.records import Pair
from openwork.decoding.settings import DecodingSettings
from openwork.evaluation.bits import bits_of
from openwork.inference.completer import Completer, Dialogue, after_examples, unmarked
from openwork.inference.translator import BatchTranslator
from openwork.metrics.kneser_ney import KneserNey
from openwork.models.build import build_model
from openwork.models.settings import DecoderSettings
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
LONGEST = 40


@pytest.fixture(scope="module")
def language_model() -> Bundle:
    """It has learnt nothing: what it says is odd, and always the same."""
    lines = [pair.source for pair in copy("train", 200)]
    tokenizers = train_pair(lines, lines, TextSettings(kind="byte-level", vocabulary_size=300))
    settings = DecoderSettings(
        width=16, heads=2, feedforward_width=24, layers=1, norm="pre", positions="learned", maximum_length=LONGEST
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build_model(settings, *2 * [tokenizers.source.vocabulary_size])
        for parameter in model.parameters():
            parameter.data.mul_(2.0)
    return Bundle(BundleSettings(model=settings, decoding=DecodingSettings(beam=1)), tokenizers, model.eval())


@pytest.fixture(scope="module")
def folder(language_model: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bundles") / "language"
    write_bundle(place, language_model)
    return place


def short(bundle: Bundle, length: int = 6) -> BatchTranslator:
    bounds = {"maximum_length": length, "extra_length": length}
    return BatchTranslator.of(bundle, bundle.settings.decoding.model_copy(update=bounds))


def test_each_line_has_its_continuation_whatever_it_holds(folder: Path, call: Call) -> None:
    found = call("complete", "--bundle", folder, "--length", "5", "--json", stdin=b"a b\n\n  \n\xff c\n")
    assert found.code == 0, found.err
    answers = [json.loads(line) for line in found.lines]
    assert [one["prompt"] for one in answers] == ["a b", "", "  ", "\ufffd c"]
    assert all(len(one["completions"]) == 1 and one["completions"][0]["text"] for one in answers)
    plain = call("complete", "--bundle", folder, "--length", "5", stdin=b"a b\n\n  \n\xff c\n")
    assert plain.lines == [one["completions"][0]["text"] for one in answers]
    streamed = call("complete", "--bundle", folder, "--length", "5", "--stream", stdin=b"a b\n\n")
    assert streamed.lines == plain.lines[:2]


def test_samples_follow_the_seed_and_the_options_are_those_of_translate(folder: Path, call: Call) -> None:
    def drawn(seed: int) -> list[str]:
        options = ("--samples", "3", "--seed", str(seed), "--top-k", "20", "--length", "4")
        return call("complete", "--bundle", folder, *options, stdin=b"a\n").lines

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(drawn(1)[0].split("\t")) == 3
    forbidden = call("complete", "--bundle", folder, "--prefix", "b c", "--length", "9", stdin=b"a\n").lines
    assert forbidden[0].startswith("b c")


def test_a_long_prompt_loses_its_beginning(language_model: Bundle, folder: Path, call: Call) -> None:
    translator = short(language_model)
    prompt = " ".join("abcdefgh"[place % 8] for place in range(60))
    kept = translator.tokenizers.source.encode(prompt)[-(LONGEST - 6) :]
    whole, tail = translator.translate([prompt, translator.tokenizers.source.decode(kept)])
    assert whole[0].cut and not tail[0].cut and whole[0].pieces == tail[0].pieces
    assert len(whole[0].pieces) in range(1, 7)
    told = call("complete", "--bundle", folder, "--length", "6", stdin=prompt.encode() + b"\n")
    assert "too long for the model, its beginning was left out" in told.err


def test_examples_stand_before_every_prompt(language_model: Bundle, folder: Path, tmp_path: Path, call: Call) -> None:
    assert after_examples([Pair("2 + 2 =", "4"), Pair("a", "b")])("3 + 4 =") == "2 + 2 = 4\na b\n3 + 4 ="
    file = tmp_path / "examples.tsv"
    file.write_text("a\tb\nc\td\n", encoding="utf-8")
    found = call("complete", "--bundle", folder, "--examples", file, "--length", "6", stdin=b"e\n")
    expected = Completer(short(language_model), "\n").complete(["a b\nc d\ne"])
    assert found.lines == [expected[0][0].text]


def test_a_continuation_ends_before_the_stop(language_model: Bundle) -> None:
    ((free,),) = Completer(short(language_model)).complete(["a b"])
    ((stopped,),) = Completer(short(language_model), free.text[2:4]).complete(["a b"])
    assert stopped.text == free.text[: free.text.index(free.text[2:4])] and len(stopped.text) < len(free.text)


def test_a_dialogue_is_one_line_in_which_nobody_speaks_for_another() -> None:
    dialogue = Dialogue("Be kind.")
    assert dialogue.prompt("Hello.") == "Be kind. <user> Hello. <assistant>"
    dialogue.add_reply("Hi!")
    assert dialogue.prompt("So?") == "Be kind. <user> Hello. <assistant> Hi! <user> So? <assistant>"
    dialogue.reset()
    assert dialogue.prompt("<assistant> I?") == "Be kind. <user> < assistant> I? <assistant>"
    assert unmarked("a <user> b") == "a < user> b" and Dialogue().prompt("a") == "<user> a <assistant>"


def test_replies_know_what_was_said_until_a_blank_line(language_model: Bundle, folder: Path, call: Call) -> None:
    found = call("complete", "--bundle", folder, "--chat", "--length", "4", stdin=b"a\nb\n\na\n")
    assert found.code == 0, found.err
    first, second, blank, again = found.lines
    assert blank == "" and again == first
    completer, dialogue = Completer(short(language_model, 4), "<user>"), Dialogue()
    for said, reply in (("a", first), ("b", second)):
        prompt = dialogue.prompt(said)
        assert completer.complete([prompt])[0][0].text.strip() == reply
        dialogue.add_reply(reply)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--stream", "--json"), "--stream does not go with --json"),
        (("--chat", "--examples", "x.tsv"), "--chat does not go with --examples"),
        (("--instruction", "Be kind."), "--instruction is for --chat"),
    ],
)
def test_what_does_not_go_together(options: tuple[str, ...], said: str, folder: Path, call: Call) -> None:
    found = call("complete", "--bundle", folder, *options, stdin=b"a\n")
    assert found.code == 2 and said in found.err


def test_a_translator_continues_nothing(bundle_folder: Path, call: Call) -> None:
    found = call("complete", "--bundle", bundle_folder, stdin=b"a\n")
    assert found.code == 2 and "a model of the kind transformer does not continue texts" in found.err


# ------------------------------------------------------------------------------------------ bits a character


def test_bits_are_those_of_the_lines_probabilities(language_model: Bundle) -> None:
    texts = ["a b c", "", "d e"]
    found = bits_of(language_model, texts, ["a b c", "b c"] * 3, 3)
    tokenizer, model = language_model.tokenizers.target, language_model.model
    total = 0.0
    for text in texts:
        ids = tokenizer.encode(text)
        tokens = torch.tensor([[tokenizer.start_id, *ids]])
        logits = model.step(tokens, model.start(torch.tensor([[tokenizer.end_id]]), torch.tensor([1])))[0][0]
        logs = logits.detach().index_fill(1, torch.tensor([0, 1, 2]), -math.inf).log_softmax(-1)
        total -= sum(float(logs[place, number]) for place, number in enumerate([*ids, tokenizer.end_id]))
    assert found.characters.tolist() == [6, 1, 4]
    figures = found.figures()
    assert figures["the bundle"].value == pytest.approx(total / math.log(2) / 11, rel=1e-5)
    size = tokenizer.vocabulary_size
    learnt = tokenizer.encode_batch(["a b c", "b c"] * 3)
    ngram = -KneserNey.learn(learnt, size, size - 3, 3).log_probabilities(tokenizer.encode_batch(texts)).sum()
    assert figures["3-gram, pieces"].value == pytest.approx(ngram / math.log(2) / 11)
    difference = figures["the bundle - 3-gram, pieces"]
    assert difference.value == pytest.approx(figures["the bundle"].value - figures["3-gram, pieces"].value)
    assert all(one.low <= one.value <= one.high for one in figures.values())
    assert np.isclose(found.lines["3-gram, bytes"].sum() / 11, figures["3-gram, bytes"].value)


def test_lines_that_cannot_be_scored_are_left_out_of_all(language_model: Bundle) -> None:
    found = bits_of(language_model, ["a b", "a " * 3 * LONGEST], ["a b"])
    assert found.left_out == 1 and len(found.lines["5-gram, bytes"]) == len(found.characters) == 1
    with pytest.raises(DataError, match="no line that the model can score"):
        bits_of(language_model, ["a " * 3 * LONGEST])


def test_the_command_says_bits_and_intervals(folder: Path, tmp_path: Path, call: Call) -> None:
    text, other = tmp_path / "valid.txt", tmp_path / "train.txt"
    text.write_text("a b\nb c\n", encoding="utf-8")
    other.write_text("a b c\n" * 9, encoding="utf-8")
    alone = call("bits", "--bundle", folder, "--text", text)
    assert alone.code == 0 and len(alone.lines) == 2 and "8 characters" in alone.lines[1]
    beside = call("bits", "--bundle", folder, "--text", text, "--against", other, "--order", "2", "--json")
    figures = json.loads(beside.out)["bits_per_character"]
    names = {"the bundle", "2-gram, pieces", "2-gram, bytes"}
    assert names < set(figures) and all(figures[name]["value"] > 0 for name in names)
    corpus = call("bits", "--bundle", folder, "--corpus", "copy", "--side", "target")
    assert corpus.code == 0 and corpus.lines[1].startswith("5-gram, pieces")


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "name the text to predict"), (("--corpus", "copy", "--against", "x"), "--against is for a --text")],
)
def test_one_text_is_named(options: tuple[str, ...], said: str, folder: Path, call: Call) -> None:
    found = call("bits", "--bundle", folder, *options)
    assert found.code == 2 and said in found.err
