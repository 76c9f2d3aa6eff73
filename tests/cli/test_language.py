"""Messages and help follow --lang, our variable, and the locale; what is for programs never does."""

import json

import pytest

from faults.nursery import Nursery
from journeys.command import openwork
from openwork.base.errors import UsageError
from openwork.base.messages import LANGUAGE_VARIABLE
from openwork.cli.language import take_language


def test_the_language_is_taken_out_of_the_arguments(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, "en")
    assert take_language(["info", "--lang", "zh", "x"]) == ["info", "x"]
    assert take_language(["--lang=zh", "info"]) == ["info"]
    assert take_language(["demo", "--", "--lang", "zh"]) == ["demo", "--", "--lang", "zh"]
    assert take_language(["evaluate", "--language", "de"]) == ["evaluate", "--language", "de"]


@pytest.mark.parametrize("arguments", [["--lang", "fr"], ["--lang="], ["--lang"]])
def test_an_unknown_language_is_refused(arguments: list[str]):
    with pytest.raises(UsageError, match="not a language of the messages"):
        take_language(arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["paper", "eq", "99", "--lang", "zh"], {}),
        (["--lang=zh", "paper", "eq", "99"], {}),
        (["paper", "eq", "99"], {LANGUAGE_VARIABLE: "zh"}),
        (["paper", "eq", "99"], {LANGUAGE_VARIABLE: "", "LC_ALL": "zh_CN.UTF-8"}),
    ],
)
def test_an_error_is_told_in_chinese(
    arguments: list[str], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = openwork(*arguments)
    assert result.code == 2
    assert result.err.startswith("错误 U061：openwork paper 里没有 eq 99\n  建议：可用的有：eq 1")


@pytest.mark.slow
def test_why_and_what_to_do_are_told_in_chinese(nursery: Nursery):
    result = nursery.run("--lang", "zh", "info", "no-such-thing")
    assert result.code == 2
    assert result.err.startswith("错误 U056：no-such-thing：既不是文件夹也不是预设\n  原因：预设：paper-base")
    assert "\n  建议：" in result.err


@pytest.mark.slow
def test_help_is_in_chinese():
    result = openwork("translate", "--help", "--lang", "zh")
    assert result.code == 0
    assert "逐行翻译标准输入" in result.out.decode()
    assert "选项" in result.out.decode()


@pytest.mark.slow
def test_what_is_for_programs_stays_english(nursery: Nursery):
    chinese, english = (nursery.run("info", "nano", "--json", "--lang", language).out for language in ("zh", "en"))
    assert json.loads(chinese) == json.loads(english)
