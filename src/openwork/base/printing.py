r"""Safe standard output and standard error: text with control characters escaped, and data unchanged.

Untrusted text (a bundle's card, a key of a run file, a file's name) can hold characters that control a terminal or
change the order of what is displayed. `guard_streams` replaces both streams by ones that escape them, as `\x1b` or
`\u202e`, for every `print`. `write_data` writes the data that a command outputs.
"""

import json
import re
import sys
from typing import Any, TextIO, cast

# Control characters except tab and line end, lone surrogates, line and paragraph separators, and format characters that
# are invisible or change the order of the text. Those that languages need are allowed: soft hyphen, joiner and
# non-joiner, number signs of Arabic and Kaithi, controls of Egyptian hieroglyphs.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)


def escaped(text: str) -> str:
    """The text with its unsafe characters escaped; a byte of a name that is not UTF-8 is shown as that byte."""
    return UNSAFE.sub(lambda found: _shown(ord(found[0])), text)


def _shown(point: int) -> str:
    if 0xDC80 <= point <= 0xDCFF:  # Python's substitute for a byte that it could not decode
        point -= 0xDC00
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def one_line(text: str) -> str:
    r"""The escaped text with each line end as `\n`: it stays one line and cannot imitate another."""
    return escaped(text).replace("\n", "\\n")


def json_text(value: Any, **layout: Any) -> str:
    """JSON with letters unescaped and unsafe characters as JSON escapes, for any UTF-8 file or terminal."""
    return UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False, **layout))


class GuardedStream:
    """A text stream that escapes unsafe characters; all other attributes are those of the wrapped stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def rich_proxied_file(self) -> TextIO:
        """The stream that rich writes to, with colours and cursor control; its console escapes untrusted text."""
        return self._stream

    def write(self, text: str) -> int:
        self._stream.write(escaped(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_streams() -> None:
    """Makes standard output and error escape unsafe characters and those that their encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, GuardedStream):
            continue
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, cast(TextIO, GuardedStream(stream)))


def write_data(text: str) -> None:
    """Writes data to standard output at once, unchanged and in UTF-8 whatever the terminal's encoding."""
    sys.stdout.flush()  # printed text comes first
    sys.stdout.buffer.write(text.encode("utf-8", errors="replace"))
    sys.stdout.buffer.flush()


def write_json(value: Any, **layout: Any) -> None:
    """Writes a line or a block of JSON to standard output."""
    write_data(json_text(value, **layout) + "\n")


def write_document(text: str) -> None:
    """Writes a generated document, such as a run file, to standard output: UTF-8, unsafe characters escaped."""
    write_data(escaped(text))
