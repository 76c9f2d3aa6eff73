"""Where the package makes an error that a person can meet, read from the code: sentence, causes and remedies.

An error is a call of one of `ERRORS`. Where its sentence, cause or remedy is a name, what that name stands for is
looked for: in the function, in what the function is called with, or in what the function called there returns, which
may stand in the same file or in `base/messages.py`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from architecture.house import PACKAGE, nodes, syntax_tree
from architecture.messages import ERRORS, _name, _templates
from openwork.base.messages import GAP, Template

RULE = "RuleError"  # refused by a rule between settings: becomes a ConfigError with the place of the key before it
DEEPEST = 4  # names that stand for names

# Sentences of the command line's library, which become ours in one place of the package, with their codes.
OF_LIBRARIES = {
    "cli/main.py": {
        "U016": "no such option: {}",
        "U017": "no such command {}",
        "U018": "missing argument {}",
        "U019": "missing option {}",
        "U020": "invalid value for {}: {}",
        "U021": "option {} requires an argument",
        "U022": "option {} does not take a value",
        "U023": "got unexpected extra argument{}",
    }
}
# Every call of the package by the name of what is called, with the function that it stands in.
Called = dict[str, list[tuple[ast.Call, ast.FunctionDef | None]]]

# Where the sentence of an error that has been made already is passed on.
PASSED_ON = {"base/files.py": "error.what", "base/explain.py": "f'{_place(key, origins)}{named}{message}'",
    "runs/file/resolve.py": "f'{where}: {error.what}'",
    "experiments/experiment.py": "f'{place}: {error.what}'"}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """One place where an error is made: its class, and the sentences that it can say there, with the code of each."""

    kind: str
    place: str
    sentences: tuple[str, ...]
    causes: tuple[str, ...]
    remedies: tuple[str, ...]
    has_cause: bool
    has_remedy: bool
    codes: tuple[str, ...] = ()

    @property
    def made_as(self) -> str:
        """The class of the error that a person sees."""
        return "ConfigError" if self.kind == RULE else self.kind


@cache
def all_sites(package: Path = PACKAGE) -> tuple[Site, ...]:
    """Every place, in the order of the files."""
    files = {path.relative_to(package).as_posix(): syntax_tree(path) for path in _files(package)}
    called: Called = {}
    for tree in files.values():
        for call, function in _all_calls(tree):
            called.setdefault(_name(call), []).append((call, function))
    return tuple(site for name, tree in files.items() for site in _sites(name, Reader(tree, called)))


def _files(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def _sites(file: str, reader: "Reader") -> Iterator[Site]:
    for call, function in reader.calls:
        if _name(call) not in {*ERRORS, RULE} or not call.args:
            continue
        if ast.unparse(call.args[0]) == PASSED_ON.get(file):
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        sentences = reader.texts(call.args[0], function)
        codes = _codes(given.get("code"))
        if file in OF_LIBRARIES and not sentences:
            codes, sentences = tuple(OF_LIBRARIES[file]), list(OF_LIBRARIES[file].values())
        sentences = [one for one in sentences if not any(_says_more(one, other) for other in sentences)]
        if _name(call) == RULE:
            sentences = [GAP + text for text in sentences]
        causes, remedies = (reader.texts(given[key], function) if key in given else [] for key in ("why", "hint"))
        place = f"{file}:{call.lineno}"
        found = (tuple(sentences), tuple(causes), tuple(remedies))
        yield Site(_name(call), place, *found, has_cause="why" in given, has_remedy="hint" in given, codes=codes)


def _codes(expression: ast.expr | None) -> tuple[str, ...]:
    match expression:
        case ast.Constant(value=str(code)):
            return (code,)
        case ast.IfExp(body=body, orelse=otherwise):
            return (*_codes(body), *_codes(otherwise))
    return ()


def _says_more(sentence: str, other: str) -> bool:
    """Whether another sentence of the same place, with fewer words of its own, is this one as well."""
    return sentence != other and Template(tuple(other.split(GAP)), "").match(sentence) is not None


class Reader:
    """What the expressions of a file stand for, as sentences with gaps."""

    def __init__(self, tree: ast.Module, called: "Called") -> None:
        self.called = called
        names = ((target, node.value) for node in tree.body if isinstance(node, ast.Assign) for target in node.targets)
        self.constants = {target.id: value for target, value in names if isinstance(target, ast.Name)}
        self.functions = _functions(syntax_tree(PACKAGE / "base" / "messages.py")) | _functions(tree)
        self.calls = _all_calls(tree)

    def texts(self, expression: ast.expr, function: ast.FunctionDef | None, deep: int = 0) -> list[str]:
        """The sentences that an expression can be, each once; none where the code does not tell."""
        found = self._texts(expression, function, deep) if deep < DEEPEST else []
        return list(dict.fromkeys(text for text in found if re.search("[a-z]", text)))

    def _texts(self, expression: ast.expr, function: ast.FunctionDef | None, deep: int) -> list[str]:
        if isinstance(expression, ast.IfExp):
            parts = [expression.body, expression.orelse]
            return [text for part in parts for text in self.texts(part, function, deep)]
        if isinstance(expression, ast.BoolOp):
            return [text for part in expression.values for text in self.texts(part, function, deep)]
        if isinstance(expression, ast.JoinedStr) and len(expression.values) == 1:
            (value,) = expression.values
            return self.texts(value.value if isinstance(value, ast.FormattedValue) else value, function, deep)
        if isinstance(expression, ast.Name):
            return [
                text for one, where in self._meanings(expression, function) for text in self.texts(one, where, deep + 1)
            ]
        if isinstance(expression, ast.Call):
            marked = _name(expression) == "msg"
            return (
                self.texts(expression.args[0], function, deep) if marked else self._returned(expression, function, deep)
            )
        return _templates(expression)

    def _returned(self, call: ast.Call, function: ast.FunctionDef | None, deep: int) -> list[str]:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "removesuffix":
            return self.texts(call.func.value, function, deep)
        called = self.functions.get(_name(call))
        if called is None:
            return []
        returns = [node.value for node in ast.walk(called) if isinstance(node, ast.Return) and node.value is not None]
        return [text for value in returns for text in self.texts(value, called, deep + 1)]

    def _meanings(
        self, name: ast.Name, function: ast.FunctionDef | None
    ) -> Iterator[tuple[ast.expr, ast.FunctionDef | None]]:
        """What is assigned to a name, in the function or for all of the file; what is given for a parameter."""
        if name.id in self.constants:
            yield self.constants[name.id], None
        if function is None:
            return
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name.id for t in node.targets):
                yield node.value, function
        parameters = [argument.arg for argument in function.args.args]
        keywords = [argument.arg for argument in function.args.kwonlyargs]
        if name.id in parameters or name.id in keywords:
            for call, where in self.called.get(function.name, ()):
                yield from ((value, where) for value in _given(call, name.id, parameters))


@cache
def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in nodes(tree) if isinstance(node, ast.FunctionDef)}


def _given(call: ast.Call, parameter: str, parameters: list[str]) -> Iterator[ast.expr]:
    yield from (keyword.value for keyword in call.keywords if keyword.arg == parameter)
    places = [name for name in parameters if name not in ("self", "cls")]
    if parameter in places and places.index(parameter) < len(call.args):
        yield call.args[places.index(parameter)]


@cache
def _all_calls(tree: ast.Module) -> tuple[tuple[ast.Call, ast.FunctionDef | None], ...]:
    return tuple(_calls(tree, None))


def _calls(node: ast.AST, function: ast.FunctionDef | None) -> Iterator[tuple[ast.Call, ast.FunctionDef | None]]:
    """Every call with the innermost function that it stands in."""
    for child in ast.iter_child_nodes(node):
        inside = child if isinstance(child, ast.FunctionDef) else function
        if isinstance(child, ast.Call):
            yield child, function
        yield from _calls(child, inside)
