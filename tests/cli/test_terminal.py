"""What the system and the machine refuse, told in our form: the code of the error first."""

import errno
import os
from collections.abc import Callable

import pytest
import typer

from openwork.base.errors import DataError, OpenworkError
from openwork.cli.options import as_command
from openwork.cli.terminal import show_error


def outcome(command: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(typer.Exit) as ended:
        as_command(command)()
    return ended.value.exit_code, capsys.readouterr().err


def raiser(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "first", "remedy"),
    [
        (OSError(errno.EIO, os.strerror(errno.EIO), "a.txt"), "error E005: a.txt: cannot be read or written", "check"),
        (MemoryError(), "error E007: not enough memory", "lower batches.tokens"),
        (ZeroDivisionError("division by zero"), "error E008: unexpected ZeroDivisionError: division", "report it"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_what_nobody_foresaw(error: Exception, first: str, remedy: str, capsys: pytest.CaptureFixture[str]):
    code, told = outcome(raiser(error), capsys)
    assert code == 1 and told.startswith(first) and "\n  why: " in told
    assert remedy in told.partition("\n  hint: ")[2]
    assert "Traceback" not in told


def test_an_error_without_a_code_is_told_all_the_same(capsys: pytest.CaptureFixture[str]):
    show_error(OpenworkError("the cat sat on the mat", hint="feed it"))
    assert capsys.readouterr().err == "error: the cat sat on the mat\n  hint: feed it\n"


def test_the_code_stands_in_chinese_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENWORK_LANG", "zh")
    show_error(DataError("a.en: no such file", hint="check the path (current folder: /home)", code="D007"))
    assert capsys.readouterr().err == "错误 D007：a.en：没有这个文件\n  建议：请检查路径（当前文件夹：/home）\n"
