"""What reaches a terminal: nothing that commands it or turns what is read; data whole."""

import io
import json
import sys
import tomllib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import ConfigError
from openwork.base.printing import GuardedStream, escaped, guard_streams, json_text, one_line, write_data
from openwork.base.toml import write_table

ANY = st.text(st.characters(codec=None, exclude_categories=()))
UNICODE = st.text(st.characters(codec="utf-8"))
# Format characters with which languages are written; all others are shown.
KEPT = {0xAD, 0x200C, 0x200D, 0x180E, *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
KEPT |= set(range(0x13430, 0x13440))


@pytest.mark.slow
def test_by_the_categories_of_unicode():
    """All characters, one by one, against what Unicode says of them."""
    for point in range(sys.maxunicode + 1):
        unsafe = unicodedata.category(chr(point)) in ("Cc", "Cf", "Cs", "Zl", "Zp") and point not in KEPT
        reserved = point == 0x2065 or 0xE0000 <= point <= 0xE007F  # among format characters, given to none so far
        shown = escaped(chr(point)) != chr(point)
        assert shown == ((unsafe and chr(point) not in "\n\t") or reserved), hex(point)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x07\r", "\\x1b[2J\\x07\\x0d"), ("\x7f\x85\x9b", "\\x7f\\x85\\x9b"), ("\u202eabc", "\\u202eabc"),
        ("\u2028\u061c\ufeff", "\\u2028\\u061c\\ufeff"), ("\U000e0041", "\\U000e0041"), ("caf\udce9", "caf\\xe9"),
        ("\ud800", "\\ud800"), ("a\tb\nc", "a\tb\nc"), ("می\u200cخواهم 中文 é ▁", "می\u200cخواهم 中文 é ▁"),
    ],
)  # fmt: skip
def test_what_is_shown(text: str, shown: str):
    assert escaped(text) == shown
    assert one_line(text) == shown.replace("\n", "\\n")


@given(ANY)
def test_what_was_escaped_is_safe_and_stays(text: str):
    assert escaped(escaped(text)) == escaped(text)
    escaped(text).encode("utf-8")


@given(ANY)
def test_json_holds_all_text(text: str):
    """Two ways: what our JSON says is what was given, and it is JSON of the plain kind but for the escapes."""
    assert json.loads(json_text({"a": text})) == {"a": text}
    assert escaped(json_text(text)) == json_text(text)


@given(UNICODE)
def test_a_run_file_holds_all_of_unicode(text: str):
    written = write_table({"a": text, "b": {text: [text]}})
    assert tomllib.loads(written) == {"a": text, "b": {text: [text]}}
    assert escaped(written) == written


def test_a_run_file_cannot_hold_what_is_not_unicode():
    with pytest.raises(ConfigError, match=r'^"caf\\xe9": a setting cannot hold this text$') as refused:
        write_table({"a": "caf\udce9"})
    assert refused.value.hint == "give the file or folder another name"


def test_a_stream_of_another_encoding(monkeypatch: pytest.MonkeyPatch):
    """What it lacks is shown; data is UTF-8 all the same, and comes in its turn."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", errors="strict"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    guard_streams()
    guarded = sys.stdout
    guard_streams()
    assert sys.stdout is guarded
    print("é 中")
    write_data("é\u202e\ud800\n")
    print("\x1b", end="")
    sys.stdout.flush()
    assert raw.getvalue() == b"\\xe9 \\u4e2d\n" + "é\u202e?\n".encode() + b"\\x1b"


def test_a_guarded_stream_is_otherwise_the_stream():
    raw = io.StringIO()
    stream = GuardedStream(raw)
    assert stream.write("\x1b") == 1
    stream.writelines(["a", "\x07"])
    assert stream.getvalue() == "\\x1ba\\x07" and not stream.isatty() and stream.rich_proxied_file is raw
