"""The plan of the house, and a reader of the tree that the tests hold against it. Standard library alone.

A *module* is a dotted name without the leading `openwork.`; the package itself is the empty name.
A *floor* is a folder of `src/openwork`.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "openwork"
DOCUMENT = REPOSITORY / "docs" / "architecture.md"

# From the ground up. A floor imports only floors on a lower line; floors on one line never import each other.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("base",),
    ("machine", "metrics"),
    ("nn", "signals", "text"),
    ("models", "data", "documents"),
    ("decoding", "inspection", "training"),
    ("bundles",),
    ("inference",),
    ("interop",),
    ("checks", "cost", "evaluation"),
    ("runs",),
    ("demo", "experiments", "migration", "serving", "study"),
    ("cli",),
    ("api",),
)

# Where a floor may use only a part of a lower floor: (floor, lower floor) -> the modules allowed.
NARROW_DOORS: dict[tuple[str, str], frozenset[str]] = {
    # Searches and training know no model: any object that can start, step and select will do.
    ("decoding", "models"): frozenset({"models.interfaces"}),
    ("training", "models"): frozenset({"models.interfaces", "models.weights"}),
    ("inspection", "models"): frozenset({"models.interfaces"}),
    # Models see no text.
    **{(floor, "text"): frozenset() for floor in ("models", "decoding", "training")},
    **{(floor, "signals"): frozenset() for floor in ("models", "decoding", "training")},
    # Using a trained model needs nothing that trains one.
    **{(floor, "training"): frozenset() for floor in ("bundles", "inference", "interop", "checks", "evaluation")},
}

# These never import torch, nor anything that does, so that help texts and text tools start at once.
TORCH_FREE_FLOORS = ("base", "text", "signals", "metrics", "data", "documents")
# Besides every module with "settings" in its name: what reads run files and lines, and what finds a bundle.
TORCH_FREE_MODULES = (
    "models.families",
    "models.presets",
    "bundles.folder",
    "cost.cost",
    "evaluation.saved",
    "experiments.file",
    "experiments.status",
    "inference.documents.files",
    "inference.documents.translating",
    "inference.filters.tokenize",
    "migration.report",
    "runs.file.keys",
    "runs.file.resolve",
    "runs.usable",
    "study.paper.cited",
    "study.paper.contents",
)

MOST_LINES_A_FILE = 400
MOST_LINES_A_FUNCTION = 80
MOST_PARAMETERS = 8

MOST_FILES_A_FOLDER = 23  # of its own, `__init__.py` aside
LARGEST_SHARE = 0.12  # of the package's lines, in one floor

# Folders whose listing reads like a table of contents, and may be long.
LONG_FOLDERS = {"cli": "a file for each command or for a few of one kind"}

# What may break a size, and why: "models/build.py" or "models/build.py::build" -> the reason. Empty is best.
_KERNEL = "a kernel of a GPU takes each address, each step in memory and each size by itself"
SIZE_EXCEPTIONS: dict[str, str] = {
    "nn/kernels/gpu/attention_kernels.py::_put": _KERNEL,
    "nn/kernels/gpu/attention_kernels.py::forward": _KERNEL,
    "nn/kernels/gpu/attention_kernels.py::backward": _KERNEL,
    "nn/kernels/gpu/choice_kernels.py::best_of_parts": _KERNEL,
    "nn/kernels/gpu/choice_kernels.py::take_beam": _KERNEL,
    "nn/kernels/gpu/choice_kernels.py::take_greedy": _KERNEL,
    "nn/kernels/gpu/norm_kernels.py::forward": _KERNEL,
    "nn/kernels/gpu/norm_kernels.py::backward": _KERNEL,
    "nn/kernels/gpu/rectified_kernels.py::backward": _KERNEL,
    "nn/kernels/gpu/step_attention_kernels.py::beam_to_source": _KERNEL,
    "nn/kernels/gpu/step_attention_kernels.py::step_to_past": _KERNEL,
    "nn/kernels/gpu/step_attention_kernels.py::step_to_source": _KERNEL,
}

# Names that say nothing about what is inside.
EMPTY_NAMES = frozenset({"common", "func", "functions", "general", "helper", "helpers", "lib", "misc", "miscellaneous"})
EMPTY_NAMES |= {"shared", "stuff", "support", "things", "tool", "tools", "util", "utilities", "utils"}


def level(module: str) -> int:
    """The height of a module: 0 is the ground floor. `openwork` itself is below all, `__main__` is on top."""
    if not module:
        return -1
    floor = floor_of(module)
    if floor == "__main__":
        return len(FLOORS) - 1
    return next((height for height, floors in enumerate(FLOORS) if floor in floors), len(FLOORS))


def floor_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def syntax_tree(path: Path) -> ast.Module:
    """A Python file as Python reads it. Many tests read the whole package; each file is parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """The node and all below it. A walk through the whole package takes a second, and many tests take one."""
    return tuple(ast.walk(tree))


@dataclass(frozen=True)
class Import:
    """One import statement: the full name of what is imported, where, and whether it runs when the module loads."""

    target: str
    line: int
    at_load: bool


@dataclass(frozen=True)
class Source:
    """One Python file of the package."""

    path: Path
    root: Path

    @property
    def place(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    @property
    def module(self) -> str:
        parts = self.path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def tree(self) -> ast.Module:
        return syntax_tree(self.path)

    @cached_property
    def line_count(self) -> int:
        return len(self.path.read_text(encoding="utf-8").splitlines())

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(self._imports(self.tree, at_load=True))

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in nodes(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def _imports(self, node: ast.AST, at_load: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if self._is_list_of_public_names(child):
                continue
            for target in self._targets(child):
                yield Import(target, getattr(child, "lineno", 0), at_load)
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from self._imports(child, at_load and not inside)

    def _is_list_of_public_names(self, node: ast.AST) -> bool:
        """A package tells type checkers the names that it imports when they are used (`base/public.py`)."""
        return (
            self.path.name == "__init__.py" and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )

    def _targets(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = self._absolute(node)
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            # importlib.import_module("openwork.models.build") is an import as well.
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"import_module", "__import__"}:
                yield str(node.args[0].value)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = ("openwork", *self.path.relative_to(self.root).parts[:-1])
        base = package[: len(package) - node.level + 1]
        return ".".join((*base, node.module) if node.module else base)


class House:
    """All files of the package and who imports whom."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sources = tuple(Source(path, root) for path in sorted(root.rglob("*.py")))
        self.modules = {source.module: source for source in self.sources}

    def uses(self, source: Source, *, at_load_only: bool = False) -> dict[str, int]:
        """The modules of the package that a file imports, each with the line of the first import."""
        found: dict[str, int] = {}
        for item in source.imports:
            if item.at_load or not at_load_only:
                module = self._module_named(item.target)
                if module is not None and module != source.module:
                    found.setdefault(module, item.line)
        return found

    def _module_named(self, target: str) -> str | None:
        """`openwork.models.build.build_model` is something in the module `models.build`."""
        if target != "openwork" and not target.startswith("openwork."):
            return None
        name = target.removeprefix("openwork").removeprefix(".")
        while name and name not in self.modules:
            name = name.rpartition(".")[0]
        return name

    def loads(self, module: str) -> frozenset[str]:
        """Every module of the package that is loaded when this one is imported, itself and the packages included."""
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self.modules:
                continue
            seen.add(name)
            waiting.extend(self.uses(self.modules[name], at_load_only=True))
            if name:
                waiting.append(name.rpartition(".")[0])
        return frozenset(seen)

    def circles(self) -> list[tuple[str, ...]]:
        """Groups of modules that import each other in a ring (Tarjan's strongly connected components)."""
        graph = {source.module: list(self.uses(source)) for source in self.sources}
        return [tuple(sorted(group)) for group in strongly_connected(graph) if len(group) > 1]

    def files_by_folder(self) -> dict[str, int]:
        """How many files each folder has of its own, `__init__.py` aside."""
        places = [source.path for source in self.sources if source.path.name != "__init__.py"]
        return dict(Counter(path.parent.relative_to(self.root).as_posix() for path in places))

    def sizes(self) -> dict[str, tuple[int, int]]:
        """For each floor of the plan, bottom to top: number of files and number of lines."""
        counts = {floor: [0, 0] for floors in FLOORS for floor in floors}
        for source in self.sources:
            floor = floor_of(source.module)
            if floor in counts:
                counts[floor][0] += 1
                counts[floor][1] += source.line_count
        return {floor: (files, lines) for floor, (files, lines) in counts.items()}


def strongly_connected(graph: dict[str, list[str]]) -> list[list[str]]:
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for follower in graph.get(node, ()):
            if follower not in index:
                visit(follower)
                low[node] = min(low[node], low[follower])
            elif follower in stack:
                low[node] = min(low[node], index[follower])
        if low[node] == index[node]:
            cut = stack.index(node)
            groups.append(stack[cut:])
            del stack[cut:]

    for node in graph:
        if node not in index:
            visit(node)
    return groups


@cache
def house() -> House:
    return House(PACKAGE)
