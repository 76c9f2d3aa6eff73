r"""The one way to standard output and standard error: text for a person with its control characters shown, data whole.

Text that strangers wrote (a bundle's card, a key of a run file, the name of a file) can hold characters that command a
terminal or turn the order of what is read. `guard_streams` puts a stream that shows them, as `\x1b` or `\u202e`, in
place of both streams, so that no `print` can forget it. Data that a command is asked for passes below: `write_data`.
"""

import json
import re
import sys
from typing import Any, TextIO, cast

# Control characters but tab and line end, lone surrogates, separators of lines and paragraphs, and the format
# characters that change the order of the text or are not seen. Those that languages are written with stay: soft hyphen,
# joiner and non-joiner, the signs of numbers in Arabic and Kaithi, controls of Egyptian hieroglyphs.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)


def escaped(text: str) -> str:
    """The text with its unsafe characters shown; a byte of a name that is not UTF-8 is shown as that byte."""
    return UNSAFE.sub(lambda found: _shown(ord(found[0])), text)


def _shown(point: int) -> str:
    if 0xDC80 <= point <= 0xDCFF:  # what Python makes of a byte that it could not decode
        point -= 0xDC00
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def one_line(text: str) -> str:
    r"""The same, and each line end shown as `\n`: what is one line stays one, and no other line can be forged."""
    return escaped(text).replace("\n", "\\n")


def json_text(value: Any, **layout: Any) -> str:
    """JSON with letters as they are and all that is unsafe as JSON escapes: any UTF-8 file and terminal can hold it."""
    return UNSAFE.sub(_json_escape, json.dumps(value, ensure_ascii=False, **layout))


def _json_escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]  # in ASCII, two escapes for a character beyond 16 bits


class GuardedStream:
    """A stream of text that shows unsafe characters instead of sending them; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def rich_proxied_file(self) -> TextIO:
        """Where rich writes: its colours and cursor are ours. What it shows of strangers, its console escapes."""
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
    """From now on standard output and standard error show what is unsafe, and what their encoding lacks, as escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, GuardedStream):
            continue
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, cast(TextIO, GuardedStream(stream)))


def write_data(text: str) -> None:
    """Data on standard output at once: as it is, and in UTF-8 whatever the terminal's encoding, as files are."""
    sys.stdout.flush()  # what was printed before comes first
    sys.stdout.buffer.write(text.encode("utf-8", errors="replace"))
    sys.stdout.buffer.flush()


def write_json(value: Any, **layout: Any) -> None:
    """A line, or a block, of JSON on standard output."""
    write_data(json_text(value, **layout) + "\n")


def write_document(text: str) -> None:
    """A document of our own making on standard output, such as a run file: UTF-8, and nothing unsafe in it."""
    write_data(escaped(text))
