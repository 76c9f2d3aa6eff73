"""All that is printed goes through the files that show what strangers wrote instead of sending it."""

import ast
from collections.abc import Iterator

import pytest

from architecture.house import house, nodes

# What touches the streams themselves; and what reads standard input, which is no way out.
DOOR = {"base/printing.py", "cli/terminal.py", "cli/interrupts.py"}
CALLS = {"print", "input", "echo", "secho", "Console", "get_console", "print_exc", "print_exception", "basicConfig"}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def ways_out(tree: ast.AST) -> Iterator[int]:
    """The lines that print, name a stream of the process, make a console, or write to a descriptor of a stream."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in CALLS | {"write"}:
            name = ast.unparse(node.func)
            is_method = name.endswith(".print") and name != "rich.print"  # of a console that the door made
            to_stream = name == "os.write" and ast.unparse(node.args[0]) in ("1", "2")
            if to_stream or (name_of(node.func) in CALLS and not is_method):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in STREAMS and name_of(node.value) == "sys":
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield from (node.lineno for alias in node.names if alias.name in STREAMS)
        elif isinstance(node, ast.ClassDef) and any(name_of(base) == "Console" for base in node.bases):
            yield node.lineno


def test_only_the_door_prints():
    found = [f"{source.place}:{line}" for source in house().sources for line in ways_out(source.tree)]
    assert {place.partition(":")[0] for place in found} == DOOR


@pytest.mark.parametrize(
    "line",
    [
        "print(1)", "typer.echo(1)", "click.secho(1)", "sys.stdout.write('a')", "sys.stderr.buffer.write(b'a')",
        "x = sys.stdout", "from sys import stderr", "Console(stderr=True)", "rich.print(1)", "os.write(2, b'a')",
        "traceback.print_exc()", "logging.basicConfig()", "class A(Console): pass",
    ],
)  # fmt: skip
def test_every_way_out_is_seen(line: str):
    assert list(ways_out(ast.parse(line)))


def test_what_is_no_way_out():
    assert (
        list(
            ways_out(
                ast.parse(
                    "done.stdout\nsubprocess.run(x, stdout=y)\nself.console.print(a)\nos.write(number, b'')\nsay('a')"
                )
            )
        )
        == []
    )
