"""A map of attention, read back as XML: every weight, every label, and no markup out of pieces."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from openwork.inspection.attention_view import AttentionMap, visible

SVG = "{http://www.w3.org/2000/svg}"
WEIGHTS = np.array([[0.75, 0.25, 0.0], [0.0, 1.0, 0.0]])
ROWS = [("<s>", "我"), ("我", "</s>")]
COLUMNS = ["I", " am", "</s>"]


def read(weights: np.ndarray = WEIGHTS, rows=tuple(ROWS), columns=tuple(COLUMNS), title: str = "T"):
    return ElementTree.fromstring(AttentionMap(title, weights, rows, columns).drawn(str))


def labels(root: ElementTree.Element, part: str) -> list[str]:
    return ["".join(found.itertext()) for found in root.iter(f"{SVG}text") if found.get("data-part") == part]


def cells(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [found for found in root.iter(f"{SVG}rect") if found.get("data-weight") is not None]


def test_every_weight_is_there_row_by_row():
    assert [float(cell.get("data-weight", "")) for cell in cells(read())] == WEIGHTS.flatten().tolist()


def test_the_scale_is_fixed():
    """Opacity is the weight itself: a row of small weights stays pale."""
    assert [float(cell.get("fill-opacity", "")) for cell in cells(read(WEIGHTS / 4))] == [0.188, 0.062, 0, 0, 0.25, 0]
    assert len({cell.get("fill") for cell in cells(read())}) == 1


def test_rows_go_down_and_columns_go_right():
    places = [(float(cell.get("x", "")), float(cell.get("y", ""))) for cell in cells(read())]
    assert places[0][1] == places[1][1] == places[2][1] < places[3][1]
    assert places[0][0] == places[3][0] < places[1][0] < places[2][0]


def test_a_row_names_the_input_and_the_prediction():
    root = read()
    assert labels(root, "row") == ["<s> → 我", "我 → </s>"]
    assert labels(root, "column") == ["I", "␣am", "</s>"]
    assert labels(root, "column-title") == ["source"]


def test_each_cell_tells_its_value_under_the_pointer():
    titles = [cell.findtext(f"{SVG}title") for cell in cells(read())]
    assert titles[:2] == ["<s> → 我 · I: 0.7500", "<s> → 我 · ␣am: 0.2500"]


def test_the_legend_shows_both_ends():
    legend = next(group for group in read().iter(f"{SVG}g") if group.get("data-part") == "legend")
    assert [found.text for found in legend.iter(f"{SVG}text")] == ["0", "0.5", "1", "weight"]


def test_pieces_are_text_and_never_markup():
    evil = "<img src=x onerror=alert(1)>"
    drawn = AttentionMap(evil, np.ones((1, 1)), [(evil, evil)], [evil]).drawn(str)
    root = ElementTree.fromstring(drawn)
    assert root.findtext(f"{SVG}title") == evil
    assert "<img" not in drawn
    assert "onerror=alert" in labels(root, "column")[0]


def test_everything_stands_inside_the_picture():
    long = [f" piece-number-{index}" for index in range(40)]
    root = read(np.full((40, 40), 1 / 40), [(piece, piece) for piece in long], long, "many")
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for cell in cells(root):
        assert float(cell.get("x", "")) + float(cell.get("width", "")) <= width
        assert float(cell.get("y", "")) + float(cell.get("height", "")) <= height


def test_small_cells_have_no_numbers():
    numbers = read(np.full((1, 80), 1 / 80), [("a", "c")], ["b"] * 80).iter(f"{SVG}text")
    assert not [found for found in numbers if (found.text or "").startswith(".")]
    assert [found.text for found in read().iter(f"{SVG}text") if found.get("pointer-events")] == [".75", ".25", "1"]


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (np.ones((2, 2)), "do not fit"),
        (np.ones((3, 2)), "do not fit"),
        (np.ones(3), "do not fit"),
        (np.full((2, 3), 1.1), "outside"),
        (np.full((2, 3), -0.1), "outside"),
        (np.full((2, 3), np.nan), "outside"),
    ],
)
def test_wrong_weights_are_refused(weights: np.ndarray, reason: str):
    with pytest.raises(ValueError, match=reason):
        AttentionMap("T", weights, ROWS, COLUMNS).drawn(str)


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        (" the", "␣the"),
        ("a b", "a␣b"),
        ("\n", "⏎"),
        ("\t", "⇥"),
        ("", "∅"),
        ("\u3000", "␣"),
        ("\u0301", "◌\u0301"),
        ("猫", "猫"),
        ("\x00", "�"),
    ],
)
def test_invisible_characters_are_shown(piece: str, shown: str):
    assert visible(piece) == shown
