"""The catalogue of errors: gives codes to new sentences, and writes docs/errors.md and its Chinese twin.

`make errors` does both. `make errors ARGS="tests/data"` also runs these tests first, and notes in `provoked.toml` which
of the errors they provoke.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from architecture.error_sites import RULE, Site, all_sites
from architecture.house import PACKAGE, REPOSITORY
from architecture.provoked import VARIABLE, recorded
from openwork.base import errors
from openwork.base.error_codes import LETTERS, RETIRED, code_of, letter_of
from openwork.base.messages import GAP, catalogue, read_catalogue, with_numbers

CODES = PACKAGE / "base" / "errors.toml"
PROVOKED = Path(__file__).with_name("provoked.toml")
PAGES = {"en": REPOSITORY / "docs" / "errors.md", "zh": REPOSITORY / "docs" / "errors.zh-CN.md"}
TABLES = {"U": "usage", "D": "data", "C": "settings", "B": "bundle", "E": "other"}
NAMES = {letter: kind.__name__ for kind, letter in LETTERS.items()}

MARKS = re.compile(r"[\\*_<>\[\]]")  # Markdown's own

Codes = dict[str, dict[str, str]]  # the tables of errors.toml

WORDS = {
    "en": {
        "title": "# Errors",
        "other": "[中文](errors.zh-CN.md)",
        "intro": "Every error that openwork can tell a person, by the code that stands in its first line: "
        "`error D014: ...`. Three dots stand for what varies. Made from the code by `make errors`; a code is never "
        "given to another error. Exit codes: 2 for U, 3 for D and C, 4 for B, 1 for E.",
        "U": "## U: the command line",
        "D": "## D: corpora and text files",
        "C": "## C: run files and settings",
        "B": "## B: trained systems, checkpoints, models of other toolkits",
        "E": "## E: the machine, and the rest",
        "why": "Cause: ",
        "hint": "Remedy: ",
        "test": "Test: ",
        "said": "the message names it",
        "or": "; or: ",
        "none": "No test: ",
    },
    "zh": {
        "title": "# 错误",
        "other": "[English](errors.md)",
        "intro": "openwork 会告诉使用者的每一个错误，按第一行里的代码排列：`错误 D014：...`。省略号代表"
        "随情况变化的部分。本页由 `make errors` 从代码生成；"
        "代码不会改作他用。退出码：U 为 2，D 和 C 为 3，B 为 4，E 为 1。",
        "U": "## U：命令行",
        "D": "## D：语料和文本文件",
        "C": "## C：运行文件和设置",
        "B": "## B：训练好的系统、检查点、其他工具的模型",
        "E": "## E：机器及其他",
        "why": "原因：",
        "hint": "建议：",
        "test": "测试：",
        "said": "见消息本身",
        "or": "；或：",
        "none": "没有测试：",
    },
}


def read_tables() -> Codes:
    """errors.toml as it stands, the retired codes included."""
    return tomllib.loads(CODES.read_text("utf-8"))


def read_provoked() -> dict[str, dict[str, str]]:
    """`tests`: the test that provokes each code; `none`: why there is no test."""
    return tomllib.loads(PROVOKED.read_text("utf-8"))


def letter(site: Site) -> str:
    """The letter of the codes of the errors that are made there."""
    return letter_of(getattr(errors, site.made_as))


def sites_of(codes: Codes) -> dict[str, list[Site]]:
    """The places where each code's error is made."""
    found: dict[str, list[Site]] = {code: [] for name, table in codes.items() if name != RETIRED for code in table}
    by_sentence = {
        (code[0], said): code for name, table in codes.items() if name != RETIRED for code, said in table.items()
    }
    for site in all_sites():
        for sentence in site.sentences:
            if code := by_sentence.get((letter(site), sentence)):
                found[code].append(site)
    return found


def without_code(codes: Codes) -> dict[tuple[str, str], str]:
    """Letters and sentences of errors that have no code yet, with the place of each."""
    known = {(code[0], said) for name, table in codes.items() if name != RETIRED for code, said in table.items()}
    said = {(letter(site), sentence): site.place for site in all_sites() for sentence in site.sentences}
    return {key: place for key, place in said.items() if key not in known}


def left_over(codes: Codes) -> dict[str, str]:
    """Codes whose sentence the code no longer says."""
    tables = {code: said for name, table in codes.items() if name != RETIRED for code, said in table.items()}
    return {code: tables[code] for code, sites in sites_of(codes).items() if not sites}


def give_codes() -> None:
    """The next free number of its letter for each sentence without a code, at the end of its table."""
    codes = read_tables()
    missing, left = without_code(codes), left_over(codes)
    if missing and left:
        sys.exit(
            "These codes stand for sentences that the code no longer says. Where one was reworded, write the new "
            f"sentence in its line of {CODES.name}; where one is gone, move its line to [{RETIRED}]:\n"
            + "\n".join(f"  {code} {said}" for code, said in left.items())
            + "\nThese have no code:\n"
            + "\n".join(f"  {said} ({place})" for (_, said), place in missing.items())
        )
    for (initial, sentence), place in missing.items():
        numbers = [int(code[1:]) for table in codes.values() for code in table if code[0] == initial]
        code = f"{initial}{max(numbers, default=0) + 1:03}"
        codes.setdefault(TABLES[initial], {})[code] = sentence
        print(f"{code} {sentence} ({place})")
    header = CODES.read_text("utf-8").partition("\n[")[0]
    tables = (f"[{name}]\n{_lines(entries.items())}" for name, entries in codes.items())
    CODES.write_text("\n".join((f"{header.rstrip()}\n", *tables)), "utf-8")


def quoted(text: str) -> str:
    """The text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)


def tests_of(folder: Path) -> dict[str, list[str]]:
    """The tests that provoked each code, the one first that provoked the fewest others."""
    codes = read_tables()
    places = {site.place: site for sites in sites_of(codes).values() for site in sites}
    sentences = {code: said for table in codes.values() for code, said in table.items()}
    by_test: dict[str, set[str]] = defaultdict(set)
    for one in recorded(folder):
        code = code_of(getattr(errors, one.kind)(one.what))
        site = places.get(one.place)
        if site and site.kind != RULE and code and sentences[code] not in site.sentences:
            sys.exit(f"{one.place} says {one.what!r}, which is taken for {code}: {sentences[code]!r}")
        if code and one.test:
            by_test[one.test].add(code)
    found: dict[str, list[str]] = defaultdict(list)
    for test in sorted(by_test, key=lambda test: ("fuzz" in test, len(by_test[test]), test)):
        for code in by_test[test]:
            found[code].append(test.partition("[")[0])
    return found


def note_tests(found: Mapping[str, list[str]]) -> None:
    """Writes what was provoked into the table: what stands there stays where it is still so."""
    known = read_provoked()
    used = sites_of(read_tables())
    tests = {code: test for code, test in known["tests"].items() if code in used and exists(test)}
    for code, provoking in found.items():
        if tests.get(code) not in provoking:
            tests[code] = provoking[0]
    none = {code: why for code, why in known["none"].items() if code in used and code not in tests}
    header = PROVOKED.read_text("utf-8").partition("\n[")[0]
    order = [code for code in used if code in tests]
    parts = [f"[tests]\n{_lines((code, tests[code]) for code in order)}", f"[none]\n{_lines(none.items())}"]
    PROVOKED.write_text("\n".join((f"{header.rstrip()}\n", *parts)), "utf-8")


def _lines(entries: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{code} = {quoted(text)}\n" for code, text in entries)


def exists(test: str) -> bool:
    """Whether there is still a test of this name, such as `tests/base/test_files.py::test_no_file`."""
    file, _, name = test.partition("::")
    path = REPOSITORY / file
    return path.is_file() and f"def {name.rpartition('::')[2]}(" in path.read_text("utf-8")


def page(language: str) -> str:
    """The page in one of the languages."""
    words, codes, provoked = WORDS[language], read_tables(), read_provoked()
    sites = sites_of(codes)
    lines = [words["title"], "", words["other"], "", words["intro"], ""]
    for initial, name in TABLES.items():
        lines += [words[initial], ""]
        for code, sentence in codes.get(name, {}).items():
            lines += [f"### {code}", "", f"**{shown(sentence, sites[code], language)}**", ""]
            lines += [f"- {line}" for line in _entry(code, sites[code], provoked, language)]
            lines.append("")
    return "\n".join(lines)


def _entry(code: str, sites: list[Site], provoked: dict[str, dict[str, str]], language: str) -> Iterator[str]:
    words = WORDS[language]
    causes = _joined((text for site in sites for text in site.causes), language)
    if causes or any(site.has_cause for site in sites):
        yield f"{words['why']}{causes or words['said']}"
    remedies = _joined((text for site in sites for text in site.remedies), language)
    yield f"{words['hint']}{remedies or words['said']}"
    if code in provoked["tests"]:
        yield f"{words['test']}`{provoked['tests'][code]}`"
    elif code in provoked["none"]:
        yield f"{words['none']}{provoked['none'][code]}"


def _joined(texts: Iterable[str], language: str) -> str:
    return WORDS[language]["or"].join(dict.fromkeys(escaped(in_language(text, language)) for text in texts))


def shown(sentence: str, sites: list[Site], language: str) -> str:
    """The sentence for the page: a rule without the place that comes before it."""
    return escaped(
        in_language(sentence.removeprefix(GAP) if any(s.kind == RULE for s in sites) else sentence, language)
    )


def in_language(text: str, language: str) -> str:
    """The sentence with dots in its gaps."""
    shown = text.replace(GAP, "…")
    found = translations(language).get(text)
    if found is None:
        return catalogue(language).translate(shown)
    return found.format(*["…"] * text.count(GAP)) if GAP in text else found


@cache
def translations(language: str) -> dict[str, str]:
    """What stands in the catalogue of a language, by the sentences with gaps."""
    return dict(with_numbers(*entry) for entry in read_catalogue(language).items()) if language != "en" else {}


def escaped(text: str) -> str:
    """The text without what Markdown would take for its own; what stands between backticks is code, and stays."""
    parts = text.replace("……", "…").split("`")
    plain = [part if place % 2 else MARKS.sub(r"\\\g<0>", part) for place, part in enumerate(parts)]
    return "`".join(plain)


def main(arguments: list[str]) -> None:
    give_codes()
    if arguments:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
            if subprocess.run(command, cwd=REPOSITORY, env={**os.environ, VARIABLE: folder}).returncode:
                sys.exit("The tests fail, so what they provoke is not noted.")
            note_tests(tests_of(Path(folder)))
    for language, path in PAGES.items():
        path.write_text(page(language), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
