"""Lines out are lines in, whatever they hold; what cannot be read costs its own line at most."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from journeys.command import Finished
from openwork.base.lines import LONGEST_LINE, LONGEST_READ, arriving_lines, clean_line, lines_of
from openwork.bundles.bundle import Bundle
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.settings import DecodingSettings
from openwork.inference.filters.lines import answer_stream, translation_filter
from openwork.inference.filters.output import OutputFormat
from openwork.inference.translator import BatchTranslator

Call = Callable[..., Finished]
FORMS = {"plain": OutputFormat(), "best": OutputFormat(best=2), "json": OutputFormat(best=2, as_json=True)}
# Line ends, blanks of all kinds, halves of characters: what programs that split lines stumble over.
ODD = [b"\n", b"\r", b"\r\n", b"\0", b" ", b"\t", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"\xff",
       b"\xe2\x80", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80", b"a b", b"</s>", b"<0x0A>"]  # fmt: skip
BYTES = st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(ODD), max_size=25).map(b"".join))


def line_count(data: bytes) -> int:
    """As `wc -l` has it, and one more where the last line has no end."""
    return data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


class Channel(io.TextIOWrapper):
    """Stands for standard output, and gives what was written."""

    def __init__(self) -> None:
        self.written = io.BytesIO()
        super().__init__(self.written)


def translated(bundle: Bundle, data: bytes, output: OutputFormat) -> tuple[bytes, list[str]]:
    """What is written for the input, and what is told about it."""
    told: list[str] = []
    translator = BatchTranslator.of(bundle, bundle.settings.decoding.model_copy(update={"best": output.best}))
    channel, before = Channel(), sys.stdout
    sys.stdout = channel
    try:
        assert answer_stream(
            translation_filter(translator, output), told.append, arriving_lines(io.BytesIO(data))
        ) == line_count(data)
    finally:
        sys.stdout = before
    return channel.written.getvalue(), told


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@given(data=BYTES)
@example(data=b"")
@example(data=b"\n")
@example(data=b"a\r\n\r\r\n\xe2\x80\xa8\n\0\n\xff\nlast line without end")
@settings(max_examples=40)
def test_lines_out_are_lines_in(tiny_bundle: Bundle, form: str, data: bytes):
    """For any bytes, in each form of the output; blank lines stay as they are, and each JSON line is whole."""
    out, _ = translated(tiny_bundle, data, FORMS[form])
    assert out.count(b"\n") == line_count(data)
    assert out == b"" or out.endswith(b"\n")
    for given_line, line in zip(data.split(b"\n"), out.split(b"\n")[:-1], strict=False):
        source = clean_line(given_line)[0]
        if form == "json":
            assert json.loads(line)["source"] == source
        elif not source.strip():
            assert line.decode() == source


@pytest.mark.parametrize("form", FORMS)
def test_model_that_writes_line_ends_shifts_no_line(tiny_bundle: Bundle, form: str, monkeypatch: pytest.MonkeyPatch):
    """Bytes are pieces too: a model may say a line end, a tab or half a character."""
    pieces = tiny_bundle.tokenizers.target.encode("\nb\r\n\tc\u2028\x0bd\n")
    said = Hypothesis((*pieces, 4 + 0xE2), -1.0, -1.0, finished=True)

    def search(model: object, source: torch.Tensor, lengths: object, decoding: DecodingSettings, **_: object) -> object:
        return [[said] * decoding.best for _ in source]

    monkeypatch.setattr("openwork.inference.translator.decode", search)
    out, _ = translated(tiny_bundle, b"a\n\nb\n", FORMS[form])
    assert out.count(b"\n") == 3
    if form == "best":
        assert [len(line.split(b"\t")) for line in out.splitlines()] == [2, 1, 2]


@given(data=BYTES)
def test_lines_are_cut_where_wc_cuts_them(data: bytes):
    assert b"".join(lines_of(io.BytesIO(data))) == data
    assert len(list(lines_of(io.BytesIO(data)))) == line_count(data)


@pytest.mark.parametrize("length", [LONGEST_READ - 1, LONGEST_READ, LONGEST_READ + 1, 3 * LONGEST_READ])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_line_that_does_not_end_is_one_line(length: int, end: bytes):
    """Of a line of any length no more is kept than is needed to say that it is too long."""
    lines = list(lines_of(io.BytesIO(b"before\n" + b"x" * length + end + b"after\n" * len(end))))
    assert [line[:6] for line in lines] == [b"before", b"xxxxxx", *([b"after\n"] if end else [])]
    assert max(map(len, lines)) <= LONGEST_READ
    assert "longer than" in clean_line(lines[1])[1]


def test_cut_line_is_not_called_invalid():
    """A limit in bytes may fall into the middle of a character: that is not the fault of the text."""
    (line,) = lines_of(io.BytesIO("a€".encode() * LONGEST_LINE + b"\n"))
    text, problem = clean_line(line)
    assert problem == "longer than 100,000 characters, cut"
    assert text == "a€" * (LONGEST_LINE // 2)


def test_each_fault_is_told_with_its_line(tiny_bundle: Bundle):
    data = b"a\n\xff b\n\na\0b\n" + b"\xff\0\n"
    _, told = translated(tiny_bundle, data, OutputFormat())
    assert told == [
        "line 2: invalid UTF-8 at byte 1, replaced",
        "line 4: NUL characters, removed",
        "line 5: invalid UTF-8 at byte 1, replaced; NUL characters, removed",
    ]


@pytest.mark.slow
def test_one_over_long_line_does_not_change_the_others(tiny_bundle: Bundle):
    others = [f"{a} {b} c".encode() for a in "abcdefgh" for b in "xyz"]
    alone, told_alone = translated(tiny_bundle, b"\n".join(others), OutputFormat())
    mixed = [*others[:7], b"a b " * 25_000, *others[7:]]
    result, told = translated(tiny_bundle, b"\n".join(mixed), OutputFormat())
    lines = result.split(b"\n")
    assert lines[:7] + lines[8:] == alone.split(b"\n")
    assert told_alone == []
    assert told == ["line 8: too long for the model, its end was left out"]


def test_bad_lines_do_not_change_the_others(tiny_bundle: Bundle):
    alone, _ = translated(tiny_bundle, b"a b\nc d e\n", OutputFormat())
    mixed, _ = translated(tiny_bundle, b"\xff\xfe\na b\n\0\n\n \nc d e\n\xe2\x80\xa8\n", OutputFormat())
    lines = mixed.split(b"\n")
    assert [lines[1], lines[5]] == alone.split(b"\n")[:2]


def test_thousand_blank_lines(call: Call, bundle_folder: Path):
    result = call("translate", "--bundle", bundle_folder, stdin=b"\n" * 1000)
    assert (result.code, result.out, result.err) == (0, b"\n" * 1000, "")


@pytest.mark.slow
def test_empty_input_gives_empty_output(call: Call, bundle_folder: Path):
    for form in ([], ["--json"], ["--best", "2"]):
        assert call("translate", "--bundle", bundle_folder, *form).out == b""


@pytest.mark.slow
def test_scores_and_texts_of_the_forms_agree(call: Call, bundle_folder: Path):
    """`--best` and `--json` say the same, and the first of them is what is said without."""
    source = b"a b c\nd e f\n"
    plain = call("translate", "--bundle", bundle_folder, stdin=source).lines
    best = call("translate", "--bundle", bundle_folder, "--best", "3", "--beam", "3", stdin=source).lines
    objects = call("translate", "--bundle", bundle_folder, "--json", "--best", "3", "--beam", "3", stdin=source).lines
    for line, record in zip(best, map(json.loads, objects), strict=True):
        found = [column.split(" ", 1) for column in line.split("\t")]
        assert [[f"{one['score']:.4f}", one["text"]] for one in record["translations"]] == found
        assert len(found) == 3
    two = call("translate", "--bundle", bundle_folder, "--best", "2", stdin=source).lines
    assert [line.split("\t")[0].split(" ", 1)[1] for line in two] == plain


def test_tokenizing_keeps_lines_too(call: Call, bundle_folder: Path):
    """There and back: ids of lines, and the lines of those ids."""
    data = "a b c\n\n  ä € \u2028 😀\n\tx\nlast".encode()
    for form in ([], ["--ids"], ["--json"]):
        result = call("tokenize", "--bundle", bundle_folder, *form, stdin=data)
        assert (result.code, len(result.lines)) == (0, 5), result.err
    ids = call("tokenize", "--bundle", bundle_folder, "--ids", stdin=b"a b c\n\nd\n").out
    assert call("tokenize", "--bundle", bundle_folder, "--decode", stdin=ids).out == b"a b c\n\nd\n"
    result = call("tokenize", "--bundle", bundle_folder, stdin=b"a\n\xff\n")
    assert result.err == "line 2: invalid UTF-8 at byte 1, replaced\n"
