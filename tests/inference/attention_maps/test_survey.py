"""Heads on relations: the list is read with its faults named, and a head that connects its words is found."""

import json
from pathlib import Path

import numpy as np
import pytest

from calling import Call
from openwork.base.errors import DataError, UsageError
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps import survey as surveying
from openwork.inference.attention_maps.capture import SentenceAttention, capture
from openwork.inference.attention_maps.maps import LayerMap
from openwork.inference.attention_maps.pieces import SourcePiece
from openwork.inference.attention_maps.relations import WordRelation, read_relations
from openwork.inference.attention_maps.survey import sign_flip_p, survey
from openwork.inference.attention_maps.words import words_of

LINES = "# what it stands for\n\npronoun\tthe cat saw it and it ran\tit#2\tcat\npronoun\t猫追狗，它跑\t它\t猫\n"


def test_a_list_is_read(tmp_path: Path) -> None:
    (tmp_path / "list.tsv").write_text(LINES, encoding="utf-8")
    assert read_relations(tmp_path / "list.tsv") == [
        WordRelation("pronoun", "the cat saw it and it ran", (19, 21), (4, 7)),
        WordRelation("pronoun", "猫追狗，它跑", (4, 5), (0, 1)),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no relation"),
        ("a\tb\n", "line 1"),
        ("# x\na\tb c\tb\td\n", "line 2"),
        ("a\tb b\tb#3\tb\n", "line 1"),
        ("a\tb\t\tb\n", "line 1"),
        ("a\tb c\tb\tc\n", "line 1"),
        ("a\tb c d\tb\tc\n" * 2001, "2,001"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "list.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_relations(tmp_path / "list.tsv")


def test_p_by_hand() -> None:
    """Of three differences of 1 the sum is 3 or -3 in two of the eight ways to draw the signs; of 0 it always is 0."""
    p = sign_flip_p(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))
    assert p == pytest.approx([0.25, 1.0], abs=0.02)


def sentence(weights: list[list[float]]) -> SentenceAttention:
    """Of "ab c d": pieces a, b, c, d and the end symbol."""
    spans = [(0, 1), (1, 2), (2, 4), (4, 6), None]
    pieces = tuple(SourcePiece("?", span, span is None) for span in spans)
    maps = (LayerMap("encoder", 0, np.array([weights], dtype=np.float32)),)
    return SentenceAttention("ab c d", "x", pieces, (), maps, (), ())


def test_weights_by_hand(monkeypatch: pytest.MonkeyPatch, tiny_bundle: Bundle) -> None:
    """From "ab" to "d" (0.4 + 0.6) / 2; its only other word "c" has (0.2 + 0) / 2."""
    rows = [[0.2, 0.1, 0.2, 0.4, 0.1], [0.1, 0.2, 0.0, 0.6, 0.1], *[[0.2] * 5] * 3]
    monkeypatch.setattr(surveying, "capture", lambda bundle, text: sentence(rows))
    assert words_of("ab c d") == [(0, 2), (3, 4), (5, 6)]
    (one,) = survey(tiny_bundle, [WordRelation("r", "ab c d", (0, 2), (5, 6))])
    assert (one.weight, one.chance, one.most) == pytest.approx((0.5, 0.1, 1.0)) and one.pairs == 1
    (back,) = survey(tiny_bundle, [WordRelation("r", "ab c d", (0, 2), (3, 4))])
    assert (back.weight, back.chance, back.most) == pytest.approx((0.1, 0.5, 0.0))


def test_a_head_that_connects_is_found(monkeypatch: pytest.MonkeyPatch, tiny_bundle: Bundle) -> None:
    """Among 20 pairs one of two heads always looks from the first word to the second, the other one anywhere."""
    random = np.random.default_rng(0)

    def captured(bundle: Bundle, text: str) -> SentenceAttention:
        looking = np.full((4, 4), 0.05) + 0.8 * np.eye(4)[[1, 1, 1, 1]]
        weights = np.stack([looking, random.dirichlet(np.ones(4), 4)]).astype(np.float32)
        spans = [(0, 1), (2, 3), (4, 5), None]
        pieces = tuple(SourcePiece("?", span, span is None) for span in spans)
        return SentenceAttention("a b c", "x", pieces, (), (LayerMap("encoder", 0, weights),), (), ())

    monkeypatch.setattr(surveying, "capture", captured)
    found = survey(tiny_bundle, [WordRelation("r", f"a b c{number}", (0, 1), (2, 3)) for number in range(20)])
    assert [one.head for one in found] == [0, 1] and found[0].p < 0.001 < 0.05 < found[1].p
    assert found[0].weight == pytest.approx(0.85) and found[0].chance == pytest.approx(0.05) and found[0].most == 1


def test_the_command(call: Call, bundle_folder: Path, tiny_bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "list.tsv").write_text("next\ta b c\ta\tb\nnext\td e f\te\tf\n", encoding="utf-8")
    rows = json.loads(call("attention", bundle_folder, "--relations", tmp_path / "list.tsv", "--json").out)
    layers = capture(tiny_bundle, "a b c").of_kind("encoder")
    assert len(rows) == len(layers) * layers[0].heads and {row["pairs"] for row in rows} == {2}
    shown = call("attention", bundle_folder, "--relations", tmp_path / "list.tsv").out.decode()
    assert f"{rows[0]['weight']:.3f}" in shown.splitlines()[1] and "chance" in shown.splitlines()[0]
    both = call("attention", bundle_folder, "a b", "--relations", tmp_path / "list.tsv")
    none = call("attention", bundle_folder)
    assert (both.code, none.code) == (2, 2) and "U159" in both.err and "U160" in none.err


def test_an_encoder_that_does_not_attend_is_refused() -> None:
    from inference.attention_maps.bundles import bundle_of

    with pytest.raises(UsageError):
        survey(bundle_of(kind="recurrent", width=8), [WordRelation("r", "a b c", (0, 1), (2, 3))])
