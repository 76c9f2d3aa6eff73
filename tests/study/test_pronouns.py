"""Document 002's illustrations of attention, held against a model that is trained on the spot, or against a bundle."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from journeys.command import Finished
from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.inference.translator import BatchTranslator
from openwork.inspection.recorder import Recorder
from openwork.inspection.trace import Trace
from openwork.inspection.tracing import trace_forward
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.runs.assembly import new_model
from openwork.study.documents import EXAMPLES, explain_example
from openwork.study.documents.pronoun_model import (
    CAT_DOG,
    DOG_CAT,
    XIAOMING,
    divided,
    of_animals,
    of_people,
    run_settings,
    trained,
    untrained,
)
from openwork.study.documents.pronouns import Counts, PronounReader, first_of_all, have_heads_of_their_own
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]


@pytest.fixture(scope="module")
def cat_dog() -> Trace:
    return EXAMPLES["002-cat-dog"]()


@pytest.fixture(scope="module")
def xiaoming() -> Trace:
    return EXAMPLES["002-xiaoming"]()


@pytest.fixture(scope="module")
def reading_bundle() -> Bundle:
    """It reads Chinese in pieces of several characters and has learnt nothing."""
    everything = ["".join(one.words) for one in (*divided().animals, *divided().people)] * 3
    tokenizers = train_pair(everything, everything, TextSettings(vocabulary_size=400))
    settings = TransformerSettings(
        width=16, heads=2, feedforward_width=16, encoder_layers=3, decoder_layers=1, norm="pre"
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build_model(settings, *[tokenizers.source.vocabulary_size] * 2)
    return Bundle(BundleSettings(model=settings), tokenizers, model.eval(), card="")


def test_the_grammar_by_hand() -> None:
    sentences = {one.words: one for one in (*of_animals(), *of_people())}
    assert sentences[CAT_DOG].target == "die Katze jagt den Hund , sie rennt sehr schnell"
    assert sentences[DOG_CAT].target == "der Hund jagt die Katze , er rennt sehr schnell"
    horse = sentences[("昨天", "晚上", "马", "看", "鸟", "，", "它", "很", "大")]
    assert horse.target == "gestern Abend sieht das Pferd den Vogel , es ist sehr groß"
    assert {part: horse.words[place] for part, place in horse.parts.items()} == {
        "subject": "马", "verb": "看", "object": "鸟", "pronoun": "它",
    }  # fmt: skip
    assert sentences[XIAOMING].target == "Xiaoming isst im Park einen Apfel , er ist sehr glücklich"
    assert {part: XIAOMING[place] for part, place in sentences[XIAOMING].parts.items()} == {
        "subject": "小明", "place": "公园", "verb": "吃", "object": "苹果", "pronoun": "他", "mood": "开心",
    }  # fmt: skip


def test_what_is_shown_was_not_trained_on() -> None:
    sentences = divided()
    assert sentences == divided()
    assert [one.words for one in (*sentences.animals[:2], sentences.people[0])] == [CAT_DOG, DOG_CAT, XIAOMING]
    shown = {one.words for one in (*sentences.animals, *sentences.people)}
    trained_on = {one.words for one in sentences.training}
    assert len(shown) == 40 and not shown & trained_on
    assert len(shown | trained_on) == len([*of_animals(), *of_people()])


def test_the_most_looked_at_by_hand() -> None:
    looks = np.zeros((1, 2, 3, 3))
    looks[0, 0, 2] = 0.3, 0.1, 0.6  # most at itself, of the others at the first
    looks[0, 1, 2] = 0.2, 0.5, 0.3
    assert first_of_all(looks, 2, 0).tolist() == [[True, False]]
    assert first_of_all(looks, 2, 1).tolist() == [[False, True]]


def test_heads_of_their_own_by_hand() -> None:
    def can(*rows: list[int]) -> bool:
        return have_heads_of_their_own(np.array(rows, dtype=bool))

    assert can([1, 1, 0], [1, 0, 0], [0, 1, 1])
    assert not can([1, 1, 0], [1, 0, 0], [0, 1, 0])
    assert not can([1, 0, 0], [0, 0, 0])


def test_a_relation_needs_half_of_the_sentences_and_more_than_chance() -> None:
    after = np.array([[[10, 9]], [[20, 12]], [[5, 10]]])
    before = np.array([[[4, 9]], [[12, 3]], [[10, 0]]])
    assert Counts(after, before, 20).shown.tolist() == [[[True, False]], [[True, False]], [[False, False]]]


def test_weights_of_words_are_those_of_their_pieces(reading_bundle: Bundle) -> None:
    """Piece by piece, the sentence cut by hand where the tokenizer cuts it."""
    sentence = divided().people[0]
    tokenizer = reading_bundle.tokenizers.source
    text = "".join(sentence.words)
    pieces = tokenizer.encode_pieces(text)
    assert any(end - begin > 1 for begin, end in pieces.offsets)
    recorder = Recorder({"source": [*pieces.pieces, "</s>"], "target": ["<s>"]})
    trace_forward(reading_bundle.model, recorder, [*pieces.ids, tokenizer.end_id], [tokenizer.start_id])
    weights = next(step.value for step in recorder.steps if step.name == "encoder.layers.2.self_attention.weights")
    owner = [place for place, word in enumerate(sentence.words) for _ in word]  # of each character

    def shares(piece: int, word: int) -> float:
        characters = range(*pieces.offsets[piece])
        return sum(owner[at] == word for at in characters) / len(characters)

    looks = PronounReader(reading_bundle.model, tokenizer, "").word_weights(sentence)
    for query, key in ((0, 3), (6, 0), (2, 8)):
        askers = [(piece, shares(piece, query)) for piece in range(len(pieces.ids)) if shares(piece, query)]
        taken = sum(
            share * sum(weights[1, piece, other] * shares(other, key) for other in range(len(pieces.ids)))
            for piece, share in askers
        ) / sum(share for _, share in askers)
        assert looks[2, 1, query, key] == pytest.approx(taken, abs=1e-12)


@pytest.mark.slow
def test_it_began_with_the_weights_it_is_compared_with() -> None:
    first = new_model(run_settings(Path()), trained().tokenizers)
    for name, weight in untrained(trained()).named_parameters():
        assert torch.equal(weight, first.get_parameter(name)), name


@pytest.mark.slow
def test_the_model_translates_what_it_has_not_seen() -> None:
    sentences = (*divided().animals, *divided().people)
    made = BatchTranslator.of(trained()).best([" ".join(one.words) for one in sentences])
    wrong = [(one.target, other) for one, other in zip(sentences, made, strict=True) if one.target != other]
    assert len(wrong) <= 4


@pytest.mark.slow
def test_figures_of_words_are_in_the_weights_that_are_shown(cat_dog: Trace, xiaoming: Trace) -> None:
    """Each word is one piece here, so the one number stands in the other table."""
    for trace, sentence in ((cat_dog, divided().animals[0]), (xiaoming, divided().people[0])):
        step = trace.step("relations")
        for row, relation in enumerate(step.labels["relation"]):
            query, key = (sentence.words.index(word) for word in relation.split("→"))
            for layer in range(2):
                weights = trace.step(f"encoder.layers.{layer}.self_attention.weights").value
                np.testing.assert_allclose(step.value[row, layer], weights[:, query, key], atol=1e-12)


@pytest.mark.slow
def test_a_head_finds_the_animal_that_is_meant(cat_dog: Trace) -> None:
    counts, before = cat_dog.step("counts"), cat_dog.step("counts.untrained")
    assert counts.value.max() <= 20
    assert counts.value[0].max() > before.value[0].max()
    assert counts.said[0].holds


@pytest.mark.slow
def test_four_relations_do_not_have_four_heads(xiaoming: Trace) -> None:
    *each, together = xiaoming.step("counts").said
    assert len(each) == 4
    assert sum(said.holds for said in each) < 4
    assert not together.holds


@pytest.mark.slow
def test_what_is_said_is_kept_in_json(xiaoming: Trace) -> None:
    assert Trace.from_json(xiaoming.to_json()).step("counts").said == xiaoming.step("counts").said


@pytest.mark.slow
def test_a_bundle_of_ones_own(reading_bundle: Bundle) -> None:
    trace = explain_example("002-cat-dog", reading_bundle)
    assert trace.step("counts").value.shape == (2, 3, 2)
    assert trace.step("encoder.layers.2.self_attention.weights").labels["key"][-1] == "</s>"
    assert "bundle" in trace.assumptions[0]


def test_a_bundle_that_reads_no_chinese_is_refused(tiny_bundle: Bundle, reading_bundle: Bundle) -> None:
    english = reading_bundle.settings.model_copy(update={"source_language": "en"})
    for bundle in (Bundle(english, reading_bundle.tokenizers, reading_bundle.model), words_bundle()):
        with pytest.raises(UsageError, match="does not read Chinese"):
            explain_example("002-xiaoming", bundle)
    with pytest.raises(UsageError, match="has its own numbers"):
        explain_example("002-8", tiny_bundle)


def words_bundle() -> Bundle:
    """To it every Chinese word is unknown."""
    tokenizers = train_pair(["a b c"] * 3, ["a b c"] * 3, TextSettings(kind="words", vocabulary_size=300))
    settings = TransformerSettings(width=8, heads=2, feedforward_width=8, encoder_layers=1, decoder_layers=1)
    return Bundle(
        BundleSettings(model=settings), tokenizers, build_model(settings, *[tokenizers.source.vocabulary_size] * 2)
    )


@pytest.mark.slow
def test_on_the_command_line(call: Call, tmp_path: Path, reading_bundle: Bundle) -> None:
    write_bundle(tmp_path / "bundle", reading_bundle)
    shown = call("explain", "--example", "002-cat-dog", "--bundle", tmp_path / "bundle")
    assert shown.code == 0
    assert "said in Transformer 模型全景分析报告, 2.1" in shown.out.decode()
    wrong = call("explain", "--example", "002-8", "--bundle", tmp_path / "bundle")
    assert wrong.code == 2 and "002-cat-dog" in wrong.err
    assert call("explain", "--list", "--bundle", tmp_path / "bundle").code == 2


@pytest.mark.parametrize("command", [["explain", "--list"], ["study"], ["study", "--json"]], ids=" ".join)
def test_what_there_is_to_see_is_listed_without_torch(command: list[str]) -> None:
    program = (
        "import sys, contextlib\nfrom openwork.cli.main import main\n"
        f"sys.argv[1:] = {command!r}\nwith contextlib.suppress(SystemExit):\n    main()\n"
        "sys.exit('torch' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == 0 and ended.stdout, ended.stderr
