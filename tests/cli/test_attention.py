"""openwork attention: text, JSON, CSV and SVG of a small bundle, and what it refuses."""

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from calling import Call
from inference.attention_maps.bundles import CONVOLUTIONS, bundle_of
from journeys.command import ERROR, Finished
from openwork.base.phrases import shown_width
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.inference.attention_maps.capture import capture
from openwork.inference.attention_maps.look import Question, look
from openwork.inference.attention_maps.maps import unpacked
from openwork.inference.attention_maps.removal import HeadName
from openwork.inference.attention_maps.views import CSV_HEADER, alignment_line

TEXT = "a b 我 c"


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")


def test_the_map_the_alignment_and_the_facts(call: Call, bundle_folder: Path, tiny_bundle: Bundle):
    found = capture(tiny_bundle, TEXT, "c 我")
    shown = call("attention", bundle_folder, TEXT, "--translation", "c 我")
    assert shown.code == 0 and shown.err == ""
    text = shown.out.decode()
    assert max(map(shown_width, text.splitlines())) <= 70
    first = found.target_pieces[0]
    assert f"<s> → {first.predicted} " in text.replace("␣", " ")
    assert "⟨E6⟩" in text and "�" not in text and "Ġ" not in text
    assert alignment_line(found) in " ".join(text.split())
    assert [line for line in text.splitlines() if line.startswith("cross 0, ")][1].startswith("cross 0, 1 ")
    assert "masked" not in text


def test_an_alignment_has_each_piece_of_the_translation_once(tiny_bundle: Bundle):
    found = capture(tiny_bundle, "a b c", "c b")
    pairs = [tuple(map(int, pair.split("-"))) for pair in alignment_line(found).split()]
    assert [target for _, target in pairs] == [0, 1]
    weights = found.of_kind("cross")[0].mean
    assert [source for source, _ in pairs] == weights[:2, :3].argmax(1).tolist()


@pytest.mark.parametrize(("kind", "rows"), [("encoder", "a "), ("decoder", "<s> → ")])
def test_a_kind_a_layer_and_a_head(call: Call, bundle_folder: Path, kind: str, rows: str):
    text = call("attention", bundle_folder, "a b", "--kind", kind, "--layer", "0", "--head", "1").out.decode()
    assert "layer 0, head 1" in text and any(line.startswith(rows) for line in text.splitlines())
    assert ("masked" in text) == (kind == "decoder")
    assert [line.partition("  ")[0] for line in text.splitlines() if line.startswith(f"{kind} ")] == [f"{kind} 0, 1"]


def test_json_is_all_that_python_has(call: Call, bundle_folder: Path, tiny_bundle: Bundle):
    found = json.loads(call("attention", bundle_folder, TEXT, "--json").out)
    assert found == json.loads(json.dumps(look(tiny_bundle, Question(TEXT)).to_json()))
    assert set(found) == {"source", "translation", "sourcePieces", "targetPieces", "maps", "facts", "rollout"}
    question = Question(TEXT, "a", HeadName("cross", 0, 1), why=True)
    asked = call("attention", bundle_folder, TEXT, "--translation", "a", "--without", "cross:0:1", "--why", "--json")
    more = json.loads(asked.out)
    assert more == json.loads(json.dumps(look(tiny_bundle, question).to_json()))
    assert {"without", "attributions", "deletion", "positionAttributions"} <= set(more) and more["translation"] == "a"


def test_both_translations_are_printed_without_a_head(call: Call, bundle_folder: Path, tiny_bundle: Bundle):
    inside = look(tiny_bundle, Question("a b", without=HeadName("cross", 0, 0)))
    lines = call("attention", bundle_folder, "a b", "--without", "cross:0:0").out.decode().splitlines()
    assert inside.changed is not None
    assert lines[:2] == [f"with all heads: {inside.attention.translation}", f"without cross:0:0: {inside.changed.text}"]


def test_why_lists_every_method_by_its_area(call: Call, bundle_folder: Path, tiny_bundle: Bundle):
    inside = look(tiny_bundle, Question("a b c", why=True))
    text = call("attention", bundle_folder, "a b c", "--why").out.decode()
    assert inside.reasons is not None and "not by itself an explanation" in " ".join(text.split())
    areas = sorted(curve.area for curve in inside.reasons.curves)
    printed = re.findall(r"^ +(-?\d+\.\d{3})  [a-h]  ", text[text.index("area under") :], re.MULTILINE)
    assert printed == [f"{area:.3f}" for area in areas]


def test_files(call: Call, bundle_folder: Path, tiny_bundle: Bundle, tmp_path: Path):
    table, picture = tmp_path / "a.csv", tmp_path / "a.svg"
    for _ in range(2):  # the second time over its own files
        done = call("attention", bundle_folder, TEXT, "--head", "1", "--csv", table, "--svg", picture)
        assert done.code == 0 and done.err.count("written to") == 2
    with table.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == CSV_HEADER
    weights = capture(tiny_bundle, TEXT).of_kind("cross")[0].weights[1]
    np.testing.assert_allclose(np.array([float(row[-1]) for row in rows]).reshape(weights.shape), weights, atol=1e-7)
    assert {tuple(row[:3]) for row in rows} == {("cross", "0", "1")}
    root = ElementTree.parse(picture).getroot()
    cells = [float(one.get("data-weight", "")) for one in root.iter() if one.get("data-weight")]
    np.testing.assert_allclose(np.array(cells).reshape(weights.shape), weights, atol=1e-6)
    (title,) = [one.text for one in root if one.tag.endswith("title")]
    assert title is not None and TEXT in title and "head 1, the mean of all layers" in title


def test_a_picture_has_the_titles_of_its_kind(call: Call, bundle_folder: Path, tmp_path: Path):
    call("attention", bundle_folder, "a b", "--kind", "encoder", "--svg", tmp_path / "a.svg")
    assert "source, each piece that attends" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def refused(result: Finished, code: int, *said: str) -> None:
    assert result.code == code and result.out == b"" and ERROR.match(result.err)
    assert "Traceback" not in result.err and all(words in result.err for words in said), result.err


def test_what_is_refused(call: Call, bundle_folder: Path, tmp_path: Path):
    refused(call("attention", bundle_folder, "a", "--layer", "1"), 2, "there is no layer 1", "the last one is 0")
    refused(call("attention", bundle_folder, "a", "--head", "2"), 2, "there is no head 2")
    refused(call("attention", bundle_folder, "a", "--without", "cross:0"), 2, "U020", "such as cross:0:3")
    refused(call("attention", bundle_folder, "a", "--without", "cross:0:9"), 2, "there is no head 9")
    refused(call("attention", bundle_folder, " "), 2, "there is no sentence")
    refused(call("attention", bundle_folder, "a " * 130, "--why"), 1, "E056", "128 is the most")
    refused(call("attention", tmp_path / "none", "a"), 4, "none")
    (tmp_path / "mine.csv").write_text("a,b\n", encoding="utf-8")
    refused(call("attention", bundle_folder, "a", "--csv", tmp_path / "mine.csv"), 2, "there already")
    assert (tmp_path / "mine.csv").read_text(encoding="utf-8") == "a,b\n"


def test_other_models(call: Call, tmp_path: Path):
    write_bundle(tmp_path / "convolutions", bundle_of(**CONVOLUTIONS))
    given = ("attention", tmp_path / "convolutions", "a b")
    assert call(*given).code == 0
    refused(call(*given, "--kind", "encoder"), 2, "U154", "this model has no self-attention of the encoder")
    shown = json.loads(call(*given, "--json", "--why").out)
    assert shown["rollout"] is None and [one["kind"] for one in shown["maps"]] == ["cross", "cross"]
    assert unpacked(shown["maps"][1]).sum(-1) == pytest.approx(1, abs=1e-3)
    assert "no self-attention" in call(*given, "--why").out.decode()
    write_bundle(tmp_path / "none", bundle_of(kind="recurrent", width=8, attention="none"))
    refused(call("attention", tmp_path / "none", "a"), 2, "U154", 'model.attention = "none"')


def test_the_public_interface(bundle_folder: Path, tiny_bundle: Bundle):
    import openwork

    translator = openwork.load(bundle_folder)
    assert isinstance(translator, openwork.Translator)
    report = translator.attention(TEXT, "c d")
    found = capture(tiny_bundle, TEXT, "c d")
    assert isinstance(report, openwork.AttentionReport) and report.translation == "c d"
    for one, other in zip(report.maps, found.maps, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
    assert report.to_json()["sourcePieces"] == found.to_json()["sourcePieces"]
    assert ElementTree.fromstring(report._repr_html_()).tag.endswith("svg")
    assert "alignment of pieces" in str(report) and repr(report) == f"AttentionReport({TEXT!r} → 'c d', 3 maps)"
    assert translator.attention(TEXT).translation == translator.translate(TEXT).text
