"""docs/files.md: every file of the package with the first sentence of its docstring; `make file-list` writes it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from architecture.house import FLOORS, PACKAGE, REPOSITORY, syntax_tree

PAGE = REPOSITORY / "docs" / "files.md"
HEAD = """# The files of openwork

Made from the docstrings by `make file-list`. [architecture.md](architecture.md) says how they fit together. A folder
imports only folders above it on this page.
"""


def page() -> str:
    return "\n".join([HEAD, *(line for floors in FLOORS for floor in floors for line in _section(PACKAGE / floor))])


def first_sentence(path: Path) -> str:
    """Of a module's docstring, on one line; empty where there is none."""
    text = " ".join((ast.get_docstring(syntax_tree(path)) or "").partition("\n\n")[0].split())
    found = re.match(r".+?[.!?](?=\s|$)", text)
    return found[0] if found else text


def _section(folder: Path) -> Iterator[str]:
    files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    yield f"## {folder.relative_to(PACKAGE).as_posix()}/ ({len(files)} files)"
    yield ""
    yield first_sentence(folder / "__init__.py")
    yield ""
    for path in sorted(files):
        yield f"- [`{path.name}`](../{path.relative_to(REPOSITORY).as_posix()}): {first_sentence(path)}"
    yield ""
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and (path / "__init__.py").is_file()):
        yield from _section(inner)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
