"""openwork attention: the same weights in the terminal, as a picture, a table, JSON and a page."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from calling import Call
from inference.attention_maps.bundles import bundle_of
from openwork.base.errors import UsageError
from openwork.base.phrases import shown_width
from openwork.base.printing import escaped
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.inference.attention_maps.capture import attention_of
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.facts import head_facts
from openwork.inference.attention_maps.look import Question, look
from openwork.inference.attention_maps.reason_text import METHODS, table_lines
from openwork.inference.attention_maps.removal import HeadName
from openwork.inference.attention_maps.text import attention_text, word_links
from openwork.inference.translator import BatchTranslator

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


def test_the_facts_of_the_chosen_heads(call: Call, bundle_folder: Path, tiny_bundle: Bundle) -> None:
    lines = call("attention", bundle_folder, TEXT, "--translation", TRANSLATION).out.decode().splitlines()
    table = lines[lines.index(next(line for line in lines if line.startswith("layer, head"))) + 1 :]
    facts = head_facts(attention_of(tiny_bundle, TEXT, TRANSLATION).of("cross"))
    assert [line.split()[2:] for line in table] == [
        [f"{one:.2f}" for one in (fact.entropy, fact.distance, fact.before, fact.same, fact.after, fact.largest)]
        for fact in facts
    ]
    one = call("attention", bundle_folder, TEXT, "--kind", "encoder", "--head", "1").out.decode()
    assert "\n0, 1 " in one and "\n0, 0 " not in one


def test_json_is_what_python_calculates(call: Call, bundle_folder: Path, tiny_bundle: Bundle) -> None:
    found = json.loads(call("attention", bundle_folder, TEXT, "--json").out)
    assert found == json.loads(json.dumps(look(tiny_bundle, Question(TEXT)).to_json(), allow_nan=False))
    assert set(found) == {"source", "translation", "sourcePieces", "targetPieces", "maps", "facts", "rollout"}
    question = Question(TEXT, TRANSLATION, HeadName("cross", 0, 1), why=True)
    options = ("--translation", TRANSLATION, "--without", "cross:0:1", "--why", "--json")
    more = json.loads(call("attention", bundle_folder, TEXT, *options).out)
    assert more == json.loads(json.dumps(look(tiny_bundle, question).to_json(), allow_nan=False))
    assert set(more) - set(found) == {"without", "attributions", "positionAttributions", "deletion"}


def test_both_translations_without_a_head(call: Call, bundle_folder: Path, tiny_bundle: Bundle) -> None:
    """A given translation is not what the model translates with all heads."""
    inside = look(tiny_bundle, Question(TEXT, TRANSLATION, HeadName("cross", 0, 0)))
    assert inside.removed is not None
    own = BatchTranslator.of(tiny_bundle).best([TEXT])[0]
    assert inside.removed.original == own != TRANSLATION
    text = call("attention", bundle_folder, TEXT, "--translation", TRANSLATION, "--without", "cross:0:0").out.decode()
    with_all, without = text.splitlines()[:2]
    assert with_all == f"with all heads: {escaped(own)}"
    assert without == f"without cross:0:0: {escaped(inside.removed.changed.text)}"


def test_why_lists_every_method_by_its_area(call: Call, bundle_folder: Path, tiny_bundle: Bundle) -> None:
    inside = look(tiny_bundle, Question(TEXT, TRANSLATION, why=True))
    text = call("attention", bundle_folder, TEXT, "--translation", TRANSLATION, "--why").out.decode()
    assert inside.reasons is not None and "not by itself an explanation" in " ".join(text.split())
    scores = inside.reasons.attributions.scores
    row = next(line.split() for line in text.splitlines() if line.startswith("</s> ") and "→" not in line)
    assert row[1:] == [f"{scores[name][-1]:.3f}" for name in METHODS if name in scores]
    areas = sorted(curve.area for curve in inside.reasons.curves)
    printed = re.findall(r"^ +(-?\d+\.\d{3})  [a-h]  ", text[text.index("area under") :], re.MULTILINE)
    assert printed == [f"{area:.3f}" for area in areas]


def test_a_method_that_is_left_out_has_a_reason(call: Call, tmp_path: Path) -> None:
    write_bundle(tmp_path / "linear", bundle_of(attention="linear"))
    text = call("attention", tmp_path / "linear", TEXT, "--why").out.decode()
    assert "value zeroing: the model has no value vector for each piece in every layer" in " ".join(text.split())


def test_wide_names_line_up_in_tables() -> None:
    lines = list(table_lines(["", "我爱", "a"], [["甲", "1", "-2"], ["b", "3", "44"]]))
    assert lines == ["     甲  b", "我爱  1  3", "a    -2 44"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--without", "cross:0"], "U020"),
        (["--without", "cross:1:0"], "U034"),
        (["--without", "encoder:0:2"], "U035"),
        (["--why", "--translation", "a " * 130], "U155"),
    ],
)
def test_what_cannot_be_removed_or_explained(call: Call, bundle_folder: Path, words: list[str], code: str) -> None:
    refused = call("attention", bundle_folder, TEXT, *words)
    assert refused.code == 2 and code in refused.err and refused.out == b""


def test_a_picture_has_the_titles_of_its_kind(call: Call, bundle_folder: Path, tmp_path: Path) -> None:
    call("attention", bundle_folder, TEXT, "--kind", "encoder", "--svg", tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert "source, what attends" in drawn and "predicted" not in drawn


def test_the_public_interface(bundle_folder: Path, tiny_bundle: Bundle) -> None:
    import openwork

    translator = openwork.load(bundle_folder)
    assert isinstance(translator, openwork.Translator)
    report = translator.attention(TEXT, TRANSLATION)
    found = attention_of(tiny_bundle, TEXT, TRANSLATION)
    assert isinstance(report, openwork.AttentionReport) and report.translation == TRANSLATION
    for one, other in zip(report.maps, found.layers, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
    assert report.to_json() == found.to_json()
    assert ElementTree.fromstring(report._repr_html_()).tag.endswith("svg")
    assert "alignment of words" in str(report)
    assert repr(report) == f"AttentionReport({TEXT!r} → {TRANSLATION!r}, 3 maps)"
    assert translator.attention(TEXT).translation == translator.translate(TEXT).text
