from hypothesis import given
from hypothesis import strategies as st

from openwork.base.messages import Catalogue, Template, catalogue, find_language

ENTRIES = {
    "{}: no such file": "{0}：没有这个文件",
    "kept {} of {} lines": "{1} 行中保留 {0} 行",
    "check the path": "请检查路径",
    "{}": "所有",
    "see: {}": "参见：{0}",
}


def test_a_sentence_and_its_parts_are_translated():
    known = Catalogue(ENTRIES)
    assert known.translate("check the path") == "请检查路径"
    assert known.translate("a.txt: no such file") == "a.txt：没有这个文件"
    assert known.translate("kept 3 of 5 lines") == "5 行中保留 3 行"
    assert known.translate("see: check the path") == "参见：请检查路径"
    assert known.translate("check the path; kept 3 of 5 lines") == "请检查路径；5 行中保留 3 行"
    assert known.translate("something else") == "something else"
    assert known.translate("  check the path") == "  请检查路径"


def test_the_sentence_with_the_most_fixed_text_wins():
    known = Catalogue({"{}file": "{0}文件", "{}: no such file": "{0}：没有这个文件"})
    assert known.translate("a: no such file") == "a：没有这个文件"
    assert known.translate("a file") == "a 文件"


def test_braces_in_the_text_are_only_text():
    known = Catalogue({"{}: no such file": "{0}：没有这个文件"})
    assert known.translate("{0}{x}: no such file") == "{0}{x}：没有这个文件"


@given(st.lists(st.text(alphabet="ab :", max_size=3), min_size=2, max_size=4), st.text(alphabet="ab :", max_size=12))
def test_a_match_puts_the_text_together_again(parts: list[str], text: str):
    fillings = Template(tuple(parts), "").match(text)
    if fillings is not None:
        assert "".join(part + filling for part, filling in zip(parts, [*fillings, ""], strict=True)) == text


@given(st.lists(st.text(alphabet="ab", max_size=4), min_size=1, max_size=4))
def test_what_was_put_into_the_gaps_is_found(fillings: list[str]):
    parts = tuple(f"<{i}>" for i in range(len(fillings) + 1))
    text = "".join(part + filling for part, filling in zip(parts, [*fillings, ""], strict=True))
    assert Template(parts, "").match(text) == fillings


def test_the_language_comes_from_our_variable_then_the_locale():
    assert find_language({}) == "en"
    assert find_language({"LANG": "zh_CN.UTF-8"}) == "zh"
    assert find_language({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}) == "en"
    assert find_language({"LC_ALL": "de_DE.UTF-8", "OPENWORK_LANG": "zh"}) == "zh"
    assert find_language({"LC_ALL": "", "LC_MESSAGES": "zh_TW"}) == "zh"


def test_english_stays_english():
    assert catalogue("en").translate("a.txt: no such file") == "a.txt: no such file"
