"""The sentences that a person can meet, read from the code for Babel: what is marked, and arguments of known calls.

`msg(...)` marks a sentence (`base/messages.py`). The calls are those that show or carry sentences for a person: errors,
`report`, help, descriptions of settings, and those in `KEYWORDS`, as with the keywords of xgettext.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from architecture.house import PACKAGE, nodes, syntax_tree
from openwork.base.messages import GAP

ERRORS = {"RuleError", "OpenworkError", "UsageError", "DataError", "ConfigError", "BundleError"}
FEWEST_LETTERS = 4  # a sentence with fewer of its own ("{}: {}") says nothing that could be translated
# Calls whose arguments a person reads, and which of the arguments.
KEYWORDS = {
    "msg": slice(1),
    "Joined": slice(None),
    "CommandGroup": slice(1),
    "NamesBundle": slice(1),
    "Padded": slice(1),
    "Idle": slice(2, 3),
    # a line of `openwork verify`, and why it is left out
    "Check": slice(1, 2),
    "CheckResult": slice(1, 2),
    "NotApplicable": slice(1),
    # what is noted while a model is traced, and the words around it
    "StepKind": slice(1),
    "translate": slice(1),
    # the documents' worked examples
    "Step": slice(1, 2),
    "Trace": slice(1, 2),
    "Example": slice(1, 2),
    "Worked": slice(1, 2),
    "Relation": slice(3, 4),
    "Statement": slice(1, 4),
    "Pictured": slice(1, 2),
    "worked": slice(1, 2),
    "Quoted": slice(3, 4),
    # what became of an option of another toolkit
    "warn": slice(1, 2),
    "missing": slice(1, 2),
    "same": slice(1, 2),
    # the objects of the paper
    "Listed": slice(2, 3),
    "Box": slice(1),
    "Stated": slice(1),
    # what is wrong with a corpus, what the doctor finds, what a resumed training is compared by
    "FaultKind": slice(1),
    "DoctorLine": slice(3),
    "StateDifference": slice(1),
    # what the coach looks at, and what it says of a training
    "Lesson": slice(1, 5),
    "symptom": slice(4),
    "seen": slice(1, 3),
    # why a model of another toolkit is refused
    "mismatch": slice(1),
    "Unsupported": slice(None),
    "damaged": slice(1),
    # why a batch that must stay whole is refused
    "whole_batch_too_large": slice(1),
    # what a study shows
    "Study": slice(1, 3),
    "Claim": slice(1),
    "Variant": slice(1, 2),
    "Chart": slice(3),
    "Figures": slice(3),
}
MIGRATION = "migration"


@dataclass(frozen=True)
class Message:
    """A sentence with `{}` for what varies, without its indentation, and where it stands."""

    text: str
    place: str
    named: str  # with a name for what varies, as in the catalogues: {path}


@cache
def all_messages(package: Path = PACKAGE) -> list[Message]:
    """Every sentence, in the order of the files."""
    paths = sorted([*package.rglob("*.py"), *package.glob(f"{MIGRATION}/*.toml")])
    return [message for path in paths for message in _messages(path, package)]


def extract(file: BinaryIO, *_: object, **_options: object) -> Iterator[tuple[int, None, str, list[str]]]:
    """The same for Babel (`babel.cfg`): the sentences of one file, each with its line."""
    for message in _messages(Path(file.name).resolve(), PACKAGE):
        yield int(message.place.rpartition(":")[2]), None, message.named, []


def _messages(path: Path, package: Path) -> Iterator[Message]:
    if path.suffix == ".toml":
        yield from _messages_of_table(path, package)
        return
    for expression in _expressions(syntax_tree(path), path):
        place = f"{path.relative_to(package)}:{expression.lineno}"
        for text, named in zip(_templates(expression), _templates(expression, named=True), strict=True):
            if sum(map(str.isalpha, text)) >= FEWEST_LETTERS:
                yield Message(text.lstrip(" "), place, named.lstrip(" "))


def _messages_of_table(path: Path, package: Path) -> Iterator[Message]:
    """What the table of a toolkit says of its options: notes, reasons, and how its files are recognised."""
    text = path.read_text("utf-8")
    table = tomllib.loads(text)
    sections = [table.get(section, {}) for section in ("keys", "choices", "switches")]
    notes = [note for section in sections for entry in section.values() for note in entry[2:] if " " in note]
    notes += [note for entry in table.get("fixed", {}).values() for note in entry[1:]]
    # what has no blank is the name of a common reason
    reasons = [reason for name in ("missing", "notes") for reason in table.get(name, {}) if " " in reason]
    for sentence in (table["signs"], *notes, *reasons):
        line = text[: text.index(sentence[:40])].count("\n") + 1
        yield Message(sentence, f"{path.relative_to(package)}:{line}", sentence)


def _expressions(tree: ast.Module, path: Path) -> Iterator[ast.expr]:
    for node in nodes(tree):
        if isinstance(node, ast.Call):
            yield from _spoken(node)
        elif isinstance(node, ast.FunctionDef) and path.parent.name == "cli" and _is_command(node):
            yield from _docstring(node)
        elif isinstance(node, ast.FunctionDef) and any("exhibit(" in ast.unparse(one) for one in node.decorator_list):
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                yield ast.copy_location(ast.Constant(" ".join(paragraph.split())), node)


def _spoken(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that a person will read."""
    name = _name(call)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in ERRORS or _says(call):
        yield from call.args[:1]
        yield from (keywords[key] for key in ("why", "hint") if key in keywords)
    elif name in KEYWORDS:
        for argument in call.args[KEYWORDS[name]]:
            yield from _parts(argument)
    elif name == "option":
        yield call.args[1]
        if isinstance(values := keywords.get("values"), ast.Dict):
            yield from values.values
    elif name == "Field" and "description" in keywords:
        yield keywords["description"]
        yield from _explained(keywords.get("json_schema_extra"))
    elif name in ("Option", "Argument", "Typer") and "help" in keywords:
        yield keywords["help"]


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _says(call: ast.Call) -> bool:
    """`report(...)` or `self.report(...)`, a line for a person."""
    return ast.unparse(call.func) in ("report", "self.report")


def _explained(extra: ast.expr | None) -> Iterator[ast.expr]:
    """What a field says of each value that can be chosen, and where it comes from."""
    for key, value in zip(extra.keys, extra.values, strict=True) if isinstance(extra, ast.Dict) else ():
        if ast.literal_eval(key or ast.Constant("")) == "values" and isinstance(value, ast.Dict):
            yield from value.values


def _is_command(function: ast.FunctionDef) -> bool:
    if any(".command(" in ast.unparse(decorator) for decorator in function.decorator_list):
        return True
    arguments = (*function.args.args, *function.args.kwonlyargs)
    if function.name.startswith("_"):
        return False
    annotations = " ".join(ast.unparse(argument.annotation) for argument in arguments if argument.annotation)
    return re.search(r"\b(Option|Argument)\(|\b\w*Bundle\b|\b\w+Options\b", annotations) is not None


def _docstring(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The paragraphs of a command's help, without those that only show what to type."""
    for paragraph in (ast.get_docstring(function) or "").split("\n\n"):
        if paragraph and "openwork " not in paragraph:
            yield ast.copy_location(ast.Constant(paragraph), function)


def _parts(expression: ast.expr) -> Iterator[ast.expr]:
    """The texts that an expression is made of, wherever they stand in its lists."""
    match expression:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            pass
        case ast.IfExp(body=body, orelse=otherwise):
            parts = [body, otherwise]
        case ast.BinOp(left=left, right=right, op=ast.Add()):
            parts = [left, right]
        case ast.Starred(value=part) | ast.ListComp(elt=part) | ast.GeneratorExp(elt=part):
            parts = [part]
        case ast.FormattedValue(value=ast.IfExp() | ast.BoolOp() as part):
            parts = [part]
        case ast.JoinedStr(values=values):
            yield expression
            parts = [value for value in values if isinstance(value, ast.FormattedValue)]
        case ast.Constant():
            yield expression
            return
        case _:
            return
    for part in parts:
        yield from _parts(part)


def _templates(expression: ast.expr, *, named: bool = False) -> list[str]:
    """The sentences that an expression can be, with a gap, or its name, for each part that is not written there."""
    match expression:
        case ast.Constant(value=str(text)):
            names = iter(["value", *(f"value_{number}" for number in range(2, 2 + text.count(GAP)))])
            return [re.sub(r"\{\}", lambda _: f"{{{next(names)}}}", text) if named else text]
        case ast.JoinedStr(values=values):
            names = _names(values) if named else iter([""] * len(values))
            texts = (value.value if isinstance(value, ast.Constant) else f"{{{next(names)}}}" for value in values)
            return ["".join(map(str, texts))]
        case ast.IfExp(body=body, orelse=otherwise):
            return [*_templates(body, named=named), *_templates(otherwise, named=named)]
        case ast.BoolOp(values=values):
            return [text for value in values for text in _templates(value, named=named)]
    return []


def _names(values: list[ast.expr]) -> Iterator[str]:
    """A name for each part of an f-string that varies, after the variable or the method that gives it."""
    given: set[str] = set()
    for value in values:
        if isinstance(value, ast.FormattedValue):
            name = plain = _name_of(value.value).strip("_").lower() or "value"
            number = 2
            while name in given:
                name, number = f"{plain}_{number}", number + 1
            given.add(name)
            yield name


def _name_of(expression: ast.expr) -> str:
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Attribute(attr="join"), args=[argument]):
            return _name_of(argument)
        case ast.Call(func=ast.Name(), args=[argument, *_]):
            return _name_of(argument)
        case ast.Call(func=function):
            return _name_of(function)
        case ast.GeneratorExp(elt=part) | ast.ListComp(elt=part) | ast.Subscript(value=part) | ast.Starred(value=part):
            return _name_of(part)
        case ast.BinOp(left=left, right=right):
            return _name_of(left) or _name_of(right)
        case ast.IfExp(body=part, orelse=otherwise):
            return _name_of(part) or _name_of(otherwise)
        case ast.BoolOp(values=[part, *_]) | ast.Compare(left=part):
            return _name_of(part)
    return ""
