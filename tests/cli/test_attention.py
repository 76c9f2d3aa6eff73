"""openwork attention: the same weights in the terminal, as a picture, a table, JSON and a page."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from calling import Call
from openwork.base.errors import UsageError
from openwork.base.phrases import shown_width
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import attention_of
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.text import attention_text, word_links

TEXT, TRANSLATION = "a b c", "c b"


def plain(text: str) -> str:
    return text


def test_the_terminal_shows_each_weight(call: Call, bundle_folder: Path, tiny_bundle: Bundle) -> None:
    done = call("attention", bundle_folder, TEXT, "--translation", TRANSLATION)
    found = attention_of(tiny_bundle, TEXT, TRANSLATION)
    weights = ChosenMap.of(found, "cross").weights
    rows = [line for line in done.out.decode().splitlines() if " → " in line][1:]
    assert len(rows) == len(weights)
    for line, row in zip(rows, weights, strict=True):
        shown = [float(one.replace("·", "0")) for one in re.findall(r"\.\d\d|1\.0|·", line)]
        np.testing.assert_allclose(shown, row, atol=0.0051)


def test_the_alignment_by_hand(tiny_bundle: Bundle) -> None:
    found = attention_of(tiny_bundle, TEXT, TRANSLATION)
    for link in word_links(found):
        source, target = map(int, link.split("-"))
        weights = ChosenMap.of(found, "cross").weights

        def of(text: str, word: int, pieces: tuple[object, ...]) -> list[int]:
            begin, end = [match.span() for match in re.finditer(r"\S+", text)][word]
            spans = [piece.span for piece in pieces]  # type: ignore[attr-defined]
            return [n for n, span in enumerate(spans) if span and span[0] < end and span[1] > begin]

        rows = of(TRANSLATION, target, found.target_pieces)
        sums = [weights[rows][:, of(TEXT, word, found.source_pieces)].sum() for word in range(3)]
        assert int(np.argmax(sums)) == source


@pytest.mark.parametrize("width", [40, 80])
def test_wide_characters_line_up(tiny_bundle: Bundle, width: int) -> None:
    found = attention_of(tiny_bundle, "我 爱 你 b c d e f", "猫 b 狗")
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
    found = attention_of(tiny_bundle, TEXT, TRANSLATION)
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
    done = call("attention", bundle_folder, TEXT, "--translation", TRANSLATION, "--json")
    assert {one["kind"] for one in json.loads(done.out)["maps"]} == {"encoder", "decoder", "cross"}


def test_a_formula_is_text_in_a_spreadsheet(call: Call, bundle_folder: Path, tmp_path: Path) -> None:
    call("attention", bundle_folder, "=1+1", "--translation", "a", "--kind", "encoder", "--csv", tmp_path / "map.csv")
    rows = (tmp_path / "map.csv").read_text(encoding="utf-8").splitlines()
    assert not any(field.startswith("=") for field in rows[0].split(","))


@pytest.mark.parametrize(
    ("words", "code"),
    [([" "], "U155"), ([TEXT, "--layer", 7], "U157"), ([TEXT, "--head", 99], "U157"), (["a " * 4000], "U155")],
)
def test_what_cannot_be_shown(call: Call, bundle_folder: Path, words: list[object], code: str) -> None:
    refused = call("attention", bundle_folder, *words, "--translation", TRANSLATION)
    assert refused.code == 2 and code in refused.err


def test_a_sentence_without_a_translation(tiny_bundle: Bundle) -> None:
    impossible = tiny_bundle.settings.decoding.model_copy(update={"maximum_length": 1, "required": ("a b c d e f g",)})
    settings = tiny_bundle.settings.model_copy(update={"decoding": impossible})
    with pytest.raises(UsageError, match="no translation whose attention"):
        attention_of(Bundle(settings, tiny_bundle.tokenizers, tiny_bundle.model), "a b")
