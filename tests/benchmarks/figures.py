"""The figures that pages show, and the results of measurements that they are drawn from.

A figure is a number outside code with a decimal point, a percent sign, or three or more digits. It is drawn from the
files of benchmarks/results/ that its row, paragraph or section names; the name of a recipe names its result too. An id
of tests/truth/numbers.json names what the documents print there and what is right.
"""

import ast
import json
import operator
import re
from collections.abc import Callable, Iterator
from fnmatch import filter as matching
from functools import cache
from pathlib import Path
from statistics import mean, pstdev
from typing import Any, NamedTuple

from openwork.base.config import read_run
from openwork.cost.cost import cost_of
from openwork.runs.file.resolve import resolve_run

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "benchmarks" / "results"
STEMS = sorted(path.stem for path in RESULTS.glob("*.json"))
DOCUMENTS = {entry["id"]: entry for entry in json.loads((REPOSITORY / "tests/truth/numbers.json").read_text("utf-8"))}

NUMBER = re.compile(
    r"(?<![\w.,-])(?P<sign>[-−+])?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<power>e-?\d+)?(?![\d\w]|[.,-]\d)"
    r"(?: ?(?P<unit>%|％|million|万))?"
)
UNITS = {"million": 1e6, "万": 1e4}
YEAR = re.compile(r"(?:19|20)\d\d")
SECTION_BEFORE, SECTION_BEHIND = re.compile(r"sections? $"), re.compile(r" ?节")
NAMED = re.compile(r"[\w{},*/.-]+")


class Figure(NamedTuple):
    """A printed number. `names`: stems of the results that its row, its paragraph and its section name."""

    printed: str
    line: str
    number: int
    value: float
    half: float  # half a unit of its last digit
    names: tuple[frozenset[str], ...]

    def fits(self, measured: float) -> bool:
        """Whether this is the measured value or a hundred times it, rounded to the digits that are printed."""
        hundredfold = (1, 100) if abs(measured) <= 1 else (1,)
        return any(abs(measured * by - self.value) <= self.half * (1 + 1e-9) for by in hundredfold)

    def is_near(self, measured: float) -> bool:
        """Whether this is the measured value within 5 %, as "about" says."""
        return abs(measured - self.value) <= 0.05 * abs(measured)


def figures(page: str) -> Iterator[Figure]:
    """Those of a page, in order."""
    for number, line, names in _lines(page):
        text = re.sub(r"`[^`]*`", "`", line)
        text = re.sub(r"\]\([^)]*\)", "]", text)
        for found in NUMBER.finditer(text):
            if _is_figure(found, text):
                yield _figure(found, line, number, names)


def _is_figure(found: re.Match[str], text: str) -> bool:
    digits, unit = found["digits"], found["unit"]
    if (
        YEAR.fullmatch(digits)
        or SECTION_BEFORE.search(text[: found.start()])
        or SECTION_BEHIND.match(text[found.end() :])
    ):
        return False
    return "." in digits or unit is not None or bool(found["power"]) or sum(map(str.isdigit, digits)) >= 3


def _figure(found: re.Match[str], line: str, number: int, names: tuple[frozenset[str], ...]) -> Figure:
    digits = found["digits"].partition(".")[2]
    half = 0.5 * 10 ** -len(digits) * float("1" + (found["power"] or "")) * UNITS.get(found["unit"] or "", 1.0)
    return Figure(found.group(), line, number, _value(found), half, names)


def _value(found: re.Match[str]) -> float:
    value = float(found["digits"].replace(",", "") + (found["power"] or "")) * UNITS.get(found["unit"] or "", 1.0)
    return -value if found["sign"] in ("-", "−") else value


def _lines(page: str) -> Iterator[tuple[int, str, tuple[frozenset[str], ...]]]:
    """Lines that are not code, with what their row, paragraph and section name."""
    lines = page.splitlines()
    sections = _cut(lines, lambda line: line.startswith("#"))
    paragraphs = _cut(lines, lambda line: not line.strip())
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if fenced or line.startswith(("```", "    ")):
            continue
        yield number + 1, line, (_named(line), _named(paragraphs[number]), _named(sections[number]))


def _cut(lines: list[str], begins: Callable[[str], bool]) -> list[str]:
    """For each line the text of the part that it stands in; a new part begins where it is said."""
    numbers, number = [], 0
    for line in lines:
        number += begins(line)
        numbers.append(number)
    parts: dict[int, list[str]] = {}
    for number, line in zip(numbers, lines, strict=True):
        parts.setdefault(number, []).append(line)
    return ["\n".join(parts[number]) for number in numbers]


@cache
def _named(text: str) -> frozenset[str]:
    """Stems of result files: their own names, with * for many, and those of recipes."""
    found: set[str] = set()
    for code in re.findall(r"`([^`]*)`", text):
        for word in NAMED.findall(code):
            stem = word.rpartition("/")[2].removesuffix(".json").removesuffix(".toml")
            found.update(matching(STEMS, stem) if word.endswith(".json") else {stem} & {*STEMS, *DOCUMENTS})
    return frozenset(found)


@cache
def result(stem: str) -> Any:
    return json.loads((RESULTS / f"{stem}.json").read_text("utf-8"))


# What has so many numbers that a wrong figure would be found among them, or none that a page shows.
LEFT_OUT = {
    "machine", "circumstances", "settings", "options", "model", "validation_curve", "curve", "rounds", "peak_megabytes",
    "flops_per_token", "updates", "beside",
}  # fmt: skip
SENTENCES = {"note", "tried", "figure"}


@cache
def values(name: str) -> tuple[float, ...]:
    """The measured numbers of a result and those in its note: of one with a summary, the summary's.

    Of a part of it with "atis-slots: scores > atis-slots".
    """
    stem, _, place = name.partition(": ")
    if stem in DOCUMENTS:
        return tuple(_numbers([DOCUMENTS[stem].get(key) for key in ("printed", "right", "inputs")]))
    return tuple(_numbers(part(stem, place) if place else result(stem).get("summary", result(stem))))


def part(stem: str, place: str) -> Any:
    """What stands in a result under keys below keys, "scores > valid > 0": of a list an item's number, or its name."""
    value = result(stem)
    for key in place.split(" > "):
        if isinstance(value, list) and not key.isdigit():
            (value,) = [item for item in value if key in (item.get("name"), item.get("claim"))]
        else:
            value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def _numbers(value: Any) -> Iterator[float]:
    match value:
        case bool():
            return
        case int() | float():
            yield float(value)
        case dict():
            for key, inside in value.items():
                if key in SENTENCES:
                    yield from (_value(found) for found in NUMBER.finditer(inside))
                elif key not in LEFT_OUT:
                    yield from _numbers(inside)
        case list():
            for inside in value:
                yield from _numbers(inside)


OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg,
}  # fmt: skip


FUNCTIONS: dict[str, Callable[[list[float]], float]] = {"mean": mean, "deviation": pstdev}


def calculated(formula: str) -> float:
    """Arithmetic on parts of results: "[hsk-zh-en: training_seconds] / 60". A recipe has its weights."""

    def of(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATORS[type(op)](of(left), of(right))
            case ast.UnaryOp(op=op, operand=operand):
                return OPERATORS[type(op)](of(operand))
            case ast.Call(func=ast.Name(id=name), args=many):
                return FUNCTIONS[name](list(map(of, many)))
        raise ValueError(f"{formula}: {ast.dump(node)} is no arithmetic")

    return of(ast.parse(re.sub(r"\[([^:\]]+): ([^\]]+)\]", _measured, formula), mode="eval").body)


def _measured(found: re.Match[str]) -> str:
    if found[1].endswith(".toml"):
        return str(_weights(found[1], found[2]))
    return repr(float(part(found[1], found[2])))


@cache
def _weights(recipe: str, vocabularies: str) -> int:
    """Of the model of a recipe, "with 800" pieces, or "with 848 and 25", or with what its run file says: "weights"."""
    run = resolve_run(read_run(REPOSITORY / recipe, [], {}))
    sizes = map(int, re.findall(r"\d+", vocabularies) or [run.text.vocabulary_size])
    return cost_of(run.model, *sizes).weights
