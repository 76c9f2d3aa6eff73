"""Scripts read as a shell would read them, and the rest of Python's own reader as the judge."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import DataError
from openwork.migration.shell import Script, read_script


def words(text: str, **environment: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in read_script(text, environment).commands]


CASES = {
    "marian --lr 1e-4": [["marian", "--lr", "1e-4"]],
    "a 'two words' \"three 'small' words\" x\\ y": [["a", "two words", "three 'small' words", "x y"]],
    "a \\\n  b \\\n  c": [["a", "b", "c"]],
    "a b # c\n# d\ne#f": [["a", "b"], ["e#f"]],
    "a; b && c || d | e & f": [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]],
    "a > out.txt 2>&1 b < in.txt &> log c": [["a", "b", "c"]],
    "X=1\na $X ${X}y '$X' \"$X z\"": [["a", "1", "1y", "$X", "1 z"]],
    "export X=1; a $X": [["a", "1"]],
    "O='--lr 1 --beta 2'\na $O \"$O\"": [["a", "--lr", "1", "--beta", "2", "--lr 1 --beta 2"]],
    "O=a\nO+=' b'\nc $O": [["c", "a", "b"]],
    "A=(--lr 1\n 'two words' # why\n --beta 2)\na \"${A[@]}\" b": [["a", "--lr", "1", "two words", "--beta", "2", "b"]],
    "A=(a)\nA+=(b)\nc ${A[@]}": [["c", "a", "b"]],
    "a ${X:-default} ${Y-other}": [["a", "default", "other"]],
    "X=1 Y=2 a b": [["a", "b"]],
    "$ marian -c x\n> more": [["marian", "-c", "x"], ["more"]],
    "a ''": [["a", ""]],
    "a $HOME_OF_NOBODY": [["a", "$HOME_OF_NOBODY"]],
    "a $(date +%s) `pwd`": [["a", "$(date +%s)", "`pwd`"]],
    "if [ -f x ]; then\n  a b\nfi": [["if", "[", "-f", "x", "]"], ["then"], ["a", "b"], ["fi"]],
    "(a b)": [["a", "b"]],
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_words(text: str, expected: list[list[str]]):
    assert words(text) == expected


def test_lines_are_counted_through_quotes_and_continuations():
    script = read_script("a \\\n  'b\nc' \\\n  d\n\ne", {})
    assert [(word.text, word.line) for command in script.commands for word in command.words] == [
        ("a", 1), ("b\nc", 2), ("d", 4), ("e", 6),
    ]  # fmt: skip


def test_what_cannot_be_known_is_said():
    notes = "\n".join(read_script("a $X $(run me) $1 \\ \n b", {}).notes)
    assert "$X is not set" in notes and "$(run me) is not run" in notes and "$1 is known only" in notes
    assert "a space follows the backslash" in notes
    assert "'/data', from the environment" in "\n".join(read_script("a $X", {"X": "/data"}).notes)


def test_the_environment_of_a_command_is_kept():
    (command,) = read_script("CUDA_VISIBLE_DEVICES=0,1 marian -c x", {}).commands
    assert [word.text for word in command.environment] == ["CUDA_VISIBLE_DEVICES=0,1"]


def test_variables_that_grow_without_end_are_refused():
    bomb = "A=aaaaaaaaaa\n" + 'A="$A$A"\n' * 40 + "marian $A"
    with pytest.raises(DataError, match="expand to more than"):
        read_script(bomb, {})


PLAIN = st.text(st.sampled_from("ab-=./1 '\"\\\n#"), max_size=40)


@given(PLAIN)
def test_python_splits_a_line_alike(text: str):
    """Where shlex accepts a text without variables and operators, the words are the same."""
    text = text.replace("\\\n", "").replace("\\ \n", "").replace("\n", " ")
    try:
        expected = shlex.split(text, comments=False)
    except ValueError:
        return
    if "#" in text or "\\" in text or any("=" in word.partition("-")[0] for word in expected[:1]) or "=" in text:
        return  # comments begin in the middle of shlex's words, and an assignment is no word of a command
    assert words(text) == ([expected] if expected else [])


@given(st.text(st.sampled_from("ab =$(){}[]@:-'\"\\`\n#;|&<>+1"), max_size=80))
def test_any_text_is_read(text: str):
    script = read_script(text, {"a": "b"})
    assert isinstance(script, Script)
    assert all(1 <= word.line <= text.count("\n") + 1 for command in script.commands for word in command.words)
