"""What openwork says to a person, read from its code: the sentences of errors, progress lines, help and settings."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from architecture.house import PACKAGE
from openwork.base.messages import GAP

ERRORS = {"OpenworkError", "UsageError", "DataError", "ConfigError", "BundleError"}
FEWEST_LETTERS = 4  # a sentence with fewer of its own ("{}: {}") says nothing that could be translated


@dataclass(frozen=True)
class Message:
    """A sentence with `{}` for what varies, and where it stands."""

    text: str
    place: str


def all_messages(package: Path = PACKAGE) -> list[Message]:
    """Every sentence, in the order of the files."""
    found = []
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for expression in _expressions(tree, path):
            for text in _templates(expression):
                if sum(map(str.isalpha, text)) >= FEWEST_LETTERS:
                    found.append(Message(text, f"{path.relative_to(package)}:{expression.lineno}"))
    return found


def _expressions(tree: ast.Module, path: Path) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _spoken(node, path)
        elif isinstance(node, ast.FunctionDef) and path.parent.name == "cli" and _is_command(node):
            yield from _docstring(node)


def _spoken(call: ast.Call, path: Path) -> Iterator[ast.expr]:
    """The arguments of a call that a person will read."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in ERRORS or _says(call) or (name == "ValueError" and _holds_rules(path)):
        yield from call.args[:1]
        yield from (keywords[key] for key in ("why", "hint") if key in keywords)
    elif name == "Field" and "description" in keywords:
        yield keywords["description"]
    elif name in ("Option", "Argument", "Typer") and "help" in keywords:
        yield keywords["help"]


def _says(call: ast.Call) -> bool:
    """`say(...)`, the line for a person; not such as `draft.say(...)`, which writes a file."""
    return isinstance(call.func, ast.Name) and call.func.id == "say"


def _holds_rules(path: Path) -> bool:
    """Whether a file's ValueErrors are said to a person: those of the rules between settings are."""
    return "settings" in path.stem or path.stem == "run_file"


def _is_command(function: ast.FunctionDef) -> bool:
    arguments = (*function.args.args, *function.args.kwonlyargs)
    return any("typer." in ast.unparse(argument.annotation) for argument in arguments if argument.annotation)


def _docstring(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The paragraphs of a command's help, without those that only show what to type."""
    for paragraph in (ast.get_docstring(function) or "").split("\n\n"):
        if paragraph and "openwork " not in paragraph:
            yield ast.copy_location(ast.Constant(paragraph), function)


def _templates(expression: ast.expr) -> list[str]:
    """The sentences that an expression can be, with a gap for each part that is not written there."""
    match expression:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            texts = (value.value if isinstance(value, ast.Constant) else GAP for value in values)
            return ["".join(map(str, texts))]
        case ast.IfExp(body=body, orelse=otherwise):
            return [*_templates(body), *_templates(otherwise)]
        case ast.BoolOp(values=values):
            return [text for value in values for text in _templates(value)]
    return []
