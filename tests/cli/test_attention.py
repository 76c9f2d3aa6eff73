"""openwork attention: the same weights in the terminal, as a picture, a table, JSON and a page."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from calling import Call
from openwork.base.phrases import shown_width
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import SentenceAttention, capture
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.deletion import reasons
from openwork.inference.attention_maps.facts import head_facts
from openwork.inference.attention_maps.maps import LayerMap, unpacked
from openwork.inference.attention_maps.pieces import SourcePiece, TargetPiece
from openwork.inference.attention_maps.removal import without_head
from openwork.inference.attention_maps.text import attention_text, word_links
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator

TEXT, TRANSLATION = "a b c", "c b"


def plain(text: str) -> str:
    return text


def test_the_terminal_shows_each_weight(call: Call, bundle_folder: Path, tiny_bundle: Bundle) -> None:
    done = call("attention", bundle_folder, TEXT, "--translation", TRANSLATION)
    found = capture(tiny_bundle, TEXT, TRANSLATION)
    weights = ChosenMap.of(found, "cross").weights
    rows = [line for line in done.out.decode().splitlines() if " → " in line][1:]
    assert len(rows) == len(weights)
    for line, row in zip(rows, weights, strict=True):
        shown = [float(one.replace("·", "0")) for one in re.findall(r"\.\d\d|1\.0|·", line)]
        np.testing.assert_allclose(shown, row, atol=0.0051)


def test_the_alignment_by_hand() -> None:
    """Of the mean of two heads "xy" has 0.7 for "ab" and 0.3 for 狗 and for "c"; 猫 has 0.1, 0.2 and 0.7."""
    places, predicted = [(0, 1), (1, 2), (2, 4), (4, 5), None], [(0, 1), (1, 2), (2, 3), None]
    heads = [
        [[0.2, 0.8, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0.2, 0.8, 0], [0, 0, 0, 0, 1]],
        [[0, 0.4, 0.4, 0.2, 0], [0, 0, 0.2, 0.4, 0.4], [0, 0.2, 0.2, 0.6, 0], [0, 0, 0, 0, 1]],
    ]
    found = SentenceAttention(
        source="ab 狗c",
        translation="xy猫",
        source_pieces=tuple(SourcePiece("?", place, place is None) for place in places),
        target_pieces=tuple(TargetPiece("?", "?", -1.0, place, place is None) for place in predicted),
        maps=(LayerMap("cross", 0, np.array(heads, dtype=np.float32)),),
        source_ids=(),
        output_ids=(),
    )
    assert list(word_links(found)) == ["0-0", "2-1"]


@pytest.mark.parametrize("width", [40, 80])
def test_wide_characters_line_up(tiny_bundle: Bundle, width: int) -> None:
    found = capture(tiny_bundle, "我 爱 你 b c d e f", "猫 b 狗")
    text = attention_text(found, ChosenMap.of(found, "cross"), width, plain)
    rows = [line for line in text.splitlines() if re.search(r" → .*( ·|\.\d\d|1\.0)$", line)]
    assert max(map(shown_width, text.splitlines())) <= max(width, 40)
    positions = len(found.target_pieces)
    assert len(rows) % positions == 0
    for first in range(0, len(rows), positions):
        assert len({shown_width(row) for row in rows[first : first + positions]}) == 1


def test_files(call: Call, bundle_folder: Path, tiny_bundle: Bundle, tmp_path: Path) -> None:
    names = {kind: tmp_path / f"map.{kind}" for kind in ("html", "svg", "csv")}
    options = [part for kind, path in names.items() for part in (f"--{kind}", path)]
    done = call("attention", bundle_folder, TEXT, "--translation", TRANSLATION, *options, "--kind", "encoder")
    assert done.code == 0 and done.out == b""
    found = capture(tiny_bundle, TEXT, TRANSLATION)
    weights = ChosenMap.of(found, "encoder").weights
    with names["csv"].open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    np.testing.assert_allclose([[float(one) for one in row[1:]] for row in rows[1:]], weights, atol=1e-12)
    root = ElementTree.parse(names["svg"]).getroot()
    assert len([one for one in root.iter() if "data-weight" in one.attrib]) == weights.size
    page = names["html"].read_text(encoding="utf-8")
    assert "default-src 'none'" in page and not re.search(r"""(?:src|href)=["'](?!data:|#)""", page)
    assert call("attention", bundle_folder, TEXT, "--html", names["html"], "--svg", names["svg"]).code == 0
    assert "U005" in call("attention", bundle_folder, TEXT, "--csv", names["csv"]).err


def test_json_has_all_heads(call: Call, bundle_folder: Path) -> None:
    written = json.loads(call("attention", bundle_folder, TEXT, "--translation", TRANSLATION, "--json").out)
    assert {one["kind"] for one in written["maps"]} == {"encoder", "decoder", "cross"}
    assert len(written["facts"]) == sum(one["heads"] for one in written["maps"])
    rolled = unpacked(written["through_layers"]["cross"])
    np.testing.assert_allclose(rolled.sum(1), 1.0, atol=1e-4)


def test_a_formula_is_text_in_a_spreadsheet(call: Call, bundle_folder: Path, tmp_path: Path) -> None:
    call("attention", bundle_folder, "=1+1", "--translation", "a", "--kind", "encoder", "--csv", tmp_path / "map.csv")
    rows = (tmp_path / "map.csv").read_text(encoding="utf-8").splitlines()
    assert not any(field.startswith("=") for field in rows[0].split(","))


def test_why_and_without(call: Call, bundle_folder: Path, tiny_bundle: Bundle, tmp_path: Path) -> None:
    given = ("attention", bundle_folder, "d e", "--why", "--without", "cross:0:1")
    written = json.loads(call(*given, "--json").out)
    with without_head(tiny_bundle.model, "decoder.layers.0.cross_attention.2"):
        own = BatchTranslator.of(tiny_bundle).translate(["d e"])[0][0].text
    assert written["without"] == {"head": "cross:0:1", "translation": own}
    why = reasons(tiny_bundle, capture(tiny_bundle, "d e"))
    areas = {one["method"]: one["area"] for one in written["deletion"]["curves"]}
    assert areas == pytest.approx({curve.method: curve.area for curve in why.curves}, abs=1e-4)
    shown = call(*given).out.decode()
    order = re.findall(r"^\d+  ([a-z-]+): ", shown, re.MULTILINE)
    assert [round(areas[name], 3) for name in order] == sorted((round(areas[name], 3) for name in order), reverse=True)
    assert set(order) == set(areas) and f"without cross:0:1: {own}" in shown
    assert call(*given, "--html", tmp_path / "why.html").code == 0
    assert '"deletion":' in (tmp_path / "why.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([" "], "U050"), ([TEXT, "--layer", 7], "U034"), ([TEXT, "--head", 99], "U035"), (["a " * 4000], "E056"),
        ([TEXT, "--without", "cross"], "U155"), ([TEXT, "--without", "cross:0:99"], "U035"),
        (["a " * 200, "--why"], "E056"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown(call: Call, bundle_folder: Path, words: list[object], code: str) -> None:
    refused = call("attention", bundle_folder, *words)
    assert refused.code in (1, 2) and code in refused.err, refused.err


def test_the_facts_of_the_chosen_heads(call: Call, bundle_folder: Path, tiny_bundle: Bundle) -> None:
    lines = call("attention", bundle_folder, TEXT, "--translation", TRANSLATION).out.decode().splitlines()
    table = lines[next(place for place, line in enumerate(lines) if line.startswith("layer, head")) + 1 :]
    facts = head_facts(capture(tiny_bundle, TEXT, TRANSLATION).of_kind("cross"))
    assert [line.split()[2:] for line in table] == [
        [f"{one:.2f}" for one in (fact.entropy, fact.distance, fact.before, fact.same, fact.after, fact.largest)]
        for fact in facts
    ]
    one = call("attention", bundle_folder, TEXT, "--kind", "encoder", "--head", "1").out.decode()
    assert re.search(r"^ *0, 1 ", one, re.MULTILINE) and not re.search(r"^ *0, 0 ", one, re.MULTILINE)


@pytest.mark.parametrize(
    ("kind", "title", "other"), [("encoder", "what attends", "predicted"), ("decoder", "decoder's input", "source")]
)
def test_a_picture_has_the_titles_of_its_kind(
    call: Call, bundle_folder: Path, tmp_path: Path, kind: str, title: str, other: str
) -> None:
    call("attention", bundle_folder, TEXT, "--kind", kind, "--svg", tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert title in drawn and other not in drawn


def test_a_found_translation_keeps_its_pieces(tiny_bundle: Bundle) -> None:
    """Two pieces that encoding makes one of have another probability."""
    tokenizer = tiny_bundle.tokenizers.target
    text = next(piece for piece in map(tokenizer.piece, range(260, tokenizer.vocabulary_size)) if len(piece) > 1)
    pieces = tuple(number for letter in text for number in tokenizer.encode(letter))
    found = capture(tiny_bundle, "a b", Translation(text, pieces=pieces))
    assert found.output_ids == (*pieces, tokenizer.end_id) != capture(tiny_bundle, "a b", text).output_ids
    assert [piece.place for piece in found.target_pieces[:-1]] == [(n, n + 1) for n in range(len(text))]
    assert found.log_probability != pytest.approx(capture(tiny_bundle, "a b", text).log_probability, abs=1e-3)
