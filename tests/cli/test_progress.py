"""Progress: plain lines where there is no terminal, never a control character."""

import io
import sys

import pytest

from openwork.cli import progress as module
from openwork.cli.progress import progress


def test_lines_tell_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", -1.0)
    with progress(7, "translating") as advanced:
        advanced(3)
        advanced(4)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "translating total=7",
        "translating done=3 total=7",
        "translating done=7 total=7",
    ]


def test_lines_do_not_come_more_often_than_wanted(capsys: pytest.CaptureFixture[str]):
    with progress(1000, "translating") as advanced:
        for _ in range(1000):
            advanced(1)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_bar_shows_names_as_they_are(monkeypatch: pytest.MonkeyPatch):
    """Brackets in a path are no colours, and what commands a terminal is shown."""
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    with progress(2, "translating with a[red]b\n\x1b]0;title") as advanced:
        advanced(1)
    assert "translating with a[red]b\\n\\x1b]0;title" in screen.getvalue()
