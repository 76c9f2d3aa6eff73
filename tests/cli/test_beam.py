"""openwork beam: the tree of a search in the terminal, its finished hypotheses, and the same as JSON."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from calling import Call
from inference.attention_maps.bundles import bundle_of
from openwork.base.phrases import shown_width
from openwork.base.printing import escaped
from openwork.bundles.bundle import Bundle
from openwork.cli.beam import STYLES
from openwork.cli.terminal import print_styled
from openwork.decoding.search_tree import FinishedNode, SearchNode, SearchTree
from openwork.inference.searches.outline import FEW, Extent, outline, reasons
from openwork.inference.searches.recorded import record_search
from openwork.inference.searches.text import finished_lines, tree_lines

TEXT = "a b c"
NUMBERS = re.compile(r" *(\d+) +(-?\d+\.\d{4}) +(-?\d+\.\d{4})  (.*)")


def plain(text: str) -> str:
    return text


def drawn() -> SearchTree:
    """Two steps by hand: 我 and 你 are kept; after 我 an end is finished, and two go on and are dropped."""
    nodes = (
        SearchNode(0, None, 0, "<s>", 0.0, 0.0, 0),
        SearchNode(1, 0, 1, "我", -0.5, -0.5, 1),
        SearchNode(2, 0, 1, " 你们", -1.0, -1.0, 2),
        SearchNode(3, 0, 1, "a", -2.0, -2.0, 3, "dropped", "rank"),
        SearchNode(4, 0, 1, "⟨E6 88⟩", -3.0, -3.0, 4, "dropped", "rank"),
        SearchNode(5, 0, 1, "b", -3.5, -3.5, 5, "dropped", "rank"),
        SearchNode(6, 0, 1, "</s>", -4.0, -4.0, 6, "dropped", "end-rank"),
        SearchNode(7, 1, 2, "</s>", -0.25, -0.75, 1, "finished"),
        SearchNode(8, 1, 2, "爱", -1.5, -2.0, 2, "dropped", "limit"),
        SearchNode(9, 1, 2, "d", -0.1, -0.6, 0, "dropped", "constraint"),
    )
    finished = (FinishedNode(7, "我", -0.75, 2, 1.5, 0.0, -0.5, 1),)
    return SearchTree("I", 2, 1.0, "paper", 2, "limit", nodes, finished)


def test_a_tree_by_hand() -> None:
    shown = list(tree_lines(drawn(), 100, plain))
    assert [line.text for line in shown] == [
        "step     log p       sum",
        "                          <s>",
        "   1   -0.5000   -0.5000  ├─我",
        "   2   -0.2500   -0.7500  │ ├─✓ </s>   finished: number 1",
        "   2   -1.5000   -2.0000  │ ├─× 爱     the length limit of 2 pieces",
        "   2   -0.1000   -0.6000  │ └─× d      a rule of the search excludes it",
        "   1   -1.0000   -1.0000  ├─␣你们      none of its continuations is among the best candidates",
        "   1   -2.0000   -2.0000  ├─× a        rank 3: 2 before it fill the beam",
        "   1   -3.0000   -3.0000  ├─× ⟨E6 88⟩  rank 4: 2 before it fill the beam",
        "                          └─× 2 further candidates",
    ]
    looks = [line.look for line in shown]
    assert looks == ["", "best", "best", "best", "dropped", "dropped", "", "dropped", "dropped", "dropped"]


def test_all_and_a_step() -> None:
    tree = drawn()
    everything = [entry.node.id for entry in outline(tree, Extent(None, True)) if entry.node]
    assert everything == [0, 1, 7, 8, 9, 2, 3, 4, 5, 6]
    first = list(outline(tree, Extent(1)))
    assert [entry.node.id for entry in first if entry.node] == [0, 1, 2, 3, 4]
    assert first[-1].more == 4 - FEW and first[-1].lasts == (True,)


def test_the_table_by_hand() -> None:
    titles, row = finished_lines(drawn(), plain)
    assert titles.split() == ["log-probability", "length", "penalty", "final", "text"]
    assert row.split() == ["1", "-0.7500", "2", "1.5000", "-0.5000", "我"]


def test_the_terminal_shows_the_recorded_search(call: Call, bundle_folder: Path, tiny_bundle: Bundle) -> None:
    tree = record_search(tiny_bundle, TEXT, {"beam": 3}).tree
    shown = call("beam", bundle_folder, TEXT, "--beam", 3, "--all").out.decode()
    assert "\x1b" not in shown
    rows = [match.groups() for line in shown.splitlines() if (match := NUMBERS.fullmatch(line))]
    entries = [entry.node for entry in outline(tree, Extent(None, True)) if entry.node][1:]
    words = reasons(tree)
    assert len(rows) == len(entries) == len(tree.nodes) - 1
    for (step, own, total, rest), node in zip(rows, entries, strict=True):
        assert int(step) == node.step
        assert (float(own), float(total)) == pytest.approx((node.log_probability, node.score), abs=5.1e-5)
        assert rest.endswith(words[node.id]) and ("×" in rest) == (node.fate == "dropped")
    table = shown.splitlines()[-len(tree.finished) :]
    for line, one in zip(table, tree.finished, strict=True):
        assert line.split()[:2] == [str(one.rank), f"{one.score:.4f}"] and line.endswith(escaped(one.text))
    fewer = call("beam", bundle_folder, TEXT, "--beam", 3, "--step", 1).out.decode()
    steps = [NUMBERS.fullmatch(line) for line in fewer.splitlines()]
    assert {match[1] for match in steps if match} == {"1"}
    written = json.loads(call("beam", bundle_folder, TEXT, "--beam", 3, "--json").out)
    assert written == json.loads(json.dumps(tree.to_json()))


def test_bold_and_dim_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = [("kept 我", STYLES["best"]), ("gone\x1b[31m", STYLES["dropped"]), ("[bold]as it is[/]", STYLES[""])]
    print_styled(lines)
    assert terminal.getvalue().splitlines() == [
        "\x1b[1mkept 我\x1b[0m", "\x1b[2mgone\\x1b[31m\x1b[0m", "[bold]as it is[/]",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [60, 200])
def test_wide_characters_line_up(width: int) -> None:
    """The tree begins in one column; and where there is room, so do the reasons."""
    tree = record_search(bundle_of(), "我 爱 猫", {"beam": 4}).tree
    lines = [line.text for line in tree_lines(tree, width, plain, Extent(None, True))]
    assert all(line[:26].isascii() and line[26] in "<├└│ " for line in lines[1:])
    notes = [(line, note) for line, note in zip(lines[1:], reasons_in_order(tree), strict=True) if note]
    starts = {shown_width(line.removesuffix(note)) for line, note in notes}
    assert len(starts) == 1 or width == 60


def reasons_in_order(tree: SearchTree) -> list[str]:
    return [reasons(tree)[entry.node.id] for entry in outline(tree, Extent(None, True)) if entry.node]


@pytest.mark.parametrize(
    ("words", "code"),
    [([" "], "U050"), ([TEXT, "--beam", 0], "U020"), (["a " * 4000], "U052"), ([TEXT, "--step", 0], "U020")],
)
def test_what_cannot_be_shown(call: Call, bundle_folder: Path, words: list[object], code: str) -> None:
    refused = call("beam", bundle_folder, *words)
    assert refused.code == 2 and code in refused.err, refused.err
