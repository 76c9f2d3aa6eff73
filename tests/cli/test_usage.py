"""A wrong command line: exit code 2, what is wrong, and what was meant."""

import pytest

from journeys.command import openwork, told

pytestmark = pytest.mark.slow

MISTAKES = [
    (["trian"], "no such command 'trian'. Did you mean 'train'?"),
    (["xyzzy"], "no such command 'xyzzy'"),
    (["train", "--sorce", "x"], "no such option: --sorce\n  hint: did you mean --source?"),
    (["evaluate", "--bundel", "x"], "no such option: --bundel\n  hint: did you mean --bundle?"),
    (["--verison"], "no such option: --verison\n  hint: did you mean --version?"),
    (["export", "x"], "missing option '--to'"),
    (["translate", "--bundle"], "option '--bundle' requires an argument"),
    (["translate", "--bundle", "x", "--beam", "two"], "invalid value for '--beam'"),
    (["translate", "--bundle", "x", "--beam", "0"], "invalid value for '--beam'"),
    (["doctor", "surplus"], "unexpected extra argument"),
    (["config", "shwo"], "no such command 'shwo'"),
    (["compare", "a"], "missing argument 'B'"),
    (["average", "a", "--out", "b", "--last", "0"], "invalid value for '--last'"),
]


@pytest.mark.parametrize(("arguments", "words"), MISTAKES, ids=lambda value: " ".join(value)[:40])
def test_mistake_is_told_in_our_own_form(arguments: list[str], words: str):
    result = openwork(*arguments)
    message = told(result, 2, words, "hint:", "--help shows what there is")
    assert result.err == message and result.out == b""
    assert "\x1b" not in message and "╭" not in message


@pytest.mark.slow
def test_debug_shows_the_traceback():
    result = openwork("--debug", "translate", "--bundle", "/nowhere")
    assert result.code == 1
    assert "Traceback" in result.err and "BundleError: /nowhere: no such folder" in result.err
