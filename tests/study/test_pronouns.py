"""Document 002's illustrations of attention, held against a model that is trained on the spot."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from journeys.command import Finished
from openwork.inference.translator import BatchTranslator
from openwork.inspection.trace import Trace
from openwork.runs.assembly import new_model
from openwork.study.documents import EXAMPLES
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
from openwork.study.documents.pronouns import Counts, first_of_all, have_heads_of_their_own

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]


@pytest.fixture(scope="module")
def cat_dog() -> Trace:
    return EXAMPLES["002-cat-dog"]()


@pytest.fixture(scope="module")
def xiaoming() -> Trace:
    return EXAMPLES["002-xiaoming"]()


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
    counts = next(step for step in xiaoming.to_json()["steps"] if step["name"] == "counts")
    assert [one["holds"] for one in counts["said"]] == [one.holds for one in xiaoming.step("counts").said]


@pytest.mark.slow
def test_on_the_command_line(call: Call) -> None:
    shown = call("explain", "--example", "002-cat-dog")
    assert shown.code == 0
    assert "said in Transformer 模型全景分析报告, 2.1" in shown.out.decode()
    assert call("explain", "--example", "002-cat-dog", "--bundle", "bundle").code == 2
    assert call("explain", "--list", "--bundle", "bundle").code == 2


@pytest.mark.parametrize("command", [["explain", "--list"], ["study"], ["study", "--json"]], ids=" ".join)
def test_what_there_is_to_see_is_listed_without_torch(command: list[str]) -> None:
    program = (
        "import sys, contextlib\nfrom openwork.cli.main import main\n"
        f"sys.argv[1:] = {command!r}\nwith contextlib.suppress(SystemExit):\n    main()\n"
        "sys.exit('torch' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == 0 and ended.stdout, ended.stderr
