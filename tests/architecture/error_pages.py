"""The catalogue of errors: docs/errors.md and its Chinese twin, from the code; the next free code for a new error.

`make errors` writes the pages. `make errors ARGS="tests/data"` also runs these tests first, and notes in
`provoked.toml` which of the errors they provoke.
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
from architecture.house import REPOSITORY
from architecture.provoked import VARIABLE, recorded
from openwork.base.messages import GAP, catalogue, read_catalogue, with_numbers

PROVOKED = Path(__file__).with_name("provoked.toml")
PAGES = {"en": REPOSITORY / "docs" / "errors.md", "zh": REPOSITORY / "docs" / "errors.zh-CN.md"}
LETTERS = {"UsageError": "U", "DataError": "D", "ConfigError": "C", "BundleError": "B", "OpenworkError": "E"}
# Codes of errors that there were. A code is never given to another error and never renumbered: people write them into
# notes, tickets and search boxes. The code of an error that is gone, or whose kind has changed, goes here.
RETIRED = {
    "B008": "{}: the model of CTranslate2 is not complete",
    "B022": "{}: a width of {} is not divisible by {} heads",
    "B023": "{}: a length penalty of {} cannot be read",
    "B024": "{}: too large for a configuration",
    "B026": "{}: damaged, or no configuration",
    "B052": "{}: the tokenizer cannot be read",
    "C019": "valid_source and valid_target go together",
    "C030": "a recurrent model has no counterpart among the architectures of Hugging Face",
    "C039": "relative_distance is for relative positions",
    "C054": "this tokenizer is from a file, so it cannot be sampled",
    "C059": "a tokenizer from a file has no placeholders",
    "C077": 'training.metric = "score" is that of a model with a task, and this one writes texts',
    "C079": "text.target_kind gives the target a vocabulary of its own, which text.shared = true does not allow",
    "C085": "a language model needs one vocabulary for prompt and continuation",
    "C086": "text.shared = false gives each side a vocabulary of its own, and a language model has one",
    "C088": "rotary_base is for rotary positions",
    "C094": 'training.metric = "{}" is not measured of model.task = "language-model", which predicts no labels',
    "C095": "training.layer_groups: {} names no weight of this model",
    "D017": "{}: the year is outside 1950 to 2049",
    "D018": "{}: {} has no such date format",
    "D019": "{}: no such locale in the corpus",
    "D026": "{}:{}: a term without a target",
    "D027": "{}:{}: the term is longer than {} characters",
    "D030": "{}: {}.gz is not on this machine",
    "D033": "{}:{}: the line is not a JSON object",
    "D045": "{}:{}: a translation without its source",
    "D046": "{}:{}: a text without a keyword",
    "D047": "{}:{}: a second {}",
    "D048": "{}:{}: an entry without msgstr",
    "D059": "{}: token store of version {}",
    "D066": "{} hypotheses cannot be compared with {} references",
    "D067": "{} translations against {} sources",
    "D078": "{} translations against {} references",
    "D096": "{} and {} have different numbers of lines: {} and {}",
    "D115": "{} labels cannot be compared with {} references",
    "U002": "name what to compare on",
    "U024": "--row is for table 3",
    "U041": "{} is all there is to average",
    "U049": "this example is a Chinese sentence, and the bundle does not read Chinese",
    "U055": "the example {} has its own numbers and takes no --bundle",
    "U057": "table {} of the paper lists no models",
    "U062": "table 3 has no row {}",
    "U086": "--minutes nan: not a length of time",
}

MARKS = re.compile(r"[\\*_<>\[\]]")  # Markdown's own

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


def read_provoked() -> dict[str, dict[str, str]]:
    """`tests`: the test that provokes each code; `none`: why there is no test."""
    return tomllib.loads(PROVOKED.read_text("utf-8"))


def by_code() -> dict[str, list[Site]]:
    """The places where each code's error is made, in the order of the page."""
    found: dict[str, list[Site]] = defaultdict(list)
    for site in all_sites():
        for code in site.codes:
            found[code].append(site)
    order = [*LETTERS.values()]
    return {code: found[code] for code in sorted(found, key=lambda code: (order.index(code[0]), code))}


def sentence_of(code: str, sites: Iterable[Site]) -> str:
    """The sentence that the code stands for; ValueError where it stands for several."""
    (sentence,) = {said for site in sites for one, said in zip(site.codes, site.sentences, strict=True) if one == code}
    return sentence


def without_code() -> list[str]:
    """Each place that has not one code for each of its sentences, with the next free one."""
    missing = [site for site in all_sites() if len(site.codes) != len(site.sentences)]
    return [f"{site.place}: {site.sentences} needs code={next_code(LETTERS[site.made_as])!r}" for site in missing]


def next_code(letter: str) -> str:
    """The next free one, behind those that are retired."""
    numbers = [int(code[1:]) for code in (*by_code(), *RETIRED) if code[0] == letter]
    return f"{letter}{max(numbers, default=0) + 1:03}"


def quoted(text: str) -> str:
    """The text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)


def tests_of(folder: Path) -> dict[str, list[str]]:
    """The tests that provoked each code, the one first that provoked the fewest others."""
    by_test: dict[str, set[str]] = defaultdict(set)
    for one in recorded(folder):
        if one.code and one.test:
            by_test[one.test].add(one.code)
    found: dict[str, list[str]] = defaultdict(list)
    for test in sorted(by_test, key=lambda test: ("fuzz" in test, len(by_test[test]), test)):
        for code in by_test[test]:
            found[code].append(test.partition("[")[0])
    return found


def note_tests(found: Mapping[str, list[str]]) -> None:
    """Writes what was provoked into the table: what stands there stays where it is still so."""
    known = read_provoked()
    used = by_code()
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
    words, provoked, errors = WORDS[language], read_provoked(), by_code()
    lines = [words["title"], "", words["other"], "", words["intro"], ""]
    for initial in LETTERS.values():
        lines += [words[initial], ""]
        for code, sites in errors.items():
            if code[0] == initial:
                lines += [f"### {code}", "", f"**{shown(sentence_of(code, sites), sites, language)}**", ""]
                lines += [f"- {line}" for line in _entry(code, sites, provoked, language)]
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
    if missing := without_code():
        sys.exit("\n".join(missing))
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
