"""Mutants: the package's code with one operator, number or condition changed, by the operators of cosmic-ray."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

SOURCE = Path(__file__).resolve().parents[2] / "src" / "openwork"
ROOMS = (
    "nn", "models", "decoding", "training", "text", "metrics", "data", "bundles", "inference", "evaluation",
)  # fmt: skip

# One change of each kind that a slip of the hand makes. Others, such as + to <<, end in an error at once.
BINARY = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul", "BitAnd_BitOr")
COMPARISONS = (
    "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is", "Lt_GtE", "Gt_LtE",
)  # fmt: skip
OPERATORS = (
    *(f"core/ReplaceBinaryOperator_{name}" for name in BINARY),
    *(f"core/ReplaceComparisonOperator_{name}" for name in COMPARISONS),
    *(f"core/ReplaceUnaryOperator_Delete_{name}" for name in ("Not", "USub", "Invert")),
    "core/AddNot", "core/NumberReplacer", "core/ReplaceAndWithOr", "core/ReplaceOrWithAnd",
    "core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak", "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue", "core/ZeroIterationForLoop",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the file below `src/openwork`, cosmic-ray's operator, and which of its places in the file."""

    path: str
    operator: str
    occurrence: int
    line: int

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line} {self.operator.partition('/')[2]} {self.occurrence}"

    def code(self) -> str:
        """The whole file with the change."""
        return mutate_code((SOURCE / self.path).read_text("utf-8"), get_operator(self.operator)(), self.occurrence)

    def change(self) -> str:
        """The line before and after, for people."""
        before, after = (SOURCE / self.path).read_text("utf-8").splitlines(), self.code().splitlines()
        pairs = [(one.strip(), other.strip()) for one, other in zip(before, after, strict=False) if one != other]
        return " -> ".join(pairs[0]) if pairs else "nothing"


def files() -> list[str]:
    """The files that are mutated."""
    return [str(path.relative_to(SOURCE)) for room in ROOMS for path in sorted((SOURCE / room).rglob("*.py"))]


def choose(count: int, seed: int) -> list[Mutant]:
    """So many mutants, by a hash of seed and name: a change of one file leaves those of other files as they are."""

    def drawn(mutant: Mutant) -> bytes:
        return sha256(f"{seed} {mutant.path} {mutant.operator} {mutant.occurrence}".encode()).digest()

    return sorted((mutant for path in files() for mutant in mutants_of(path)), key=drawn)[:count]


@cache
def mutants_of(path: str) -> tuple[Mutant, ...]:
    """Every mutant of a file but those of annotations, decorators, settings' descriptions and raised errors."""
    code = (SOURCE / path).read_text("utf-8")
    tree, left_out = get_ast(code), set(_left_out(ast.parse(code)))
    found = []
    for name in OPERATORS:
        operator: Any = get_operator(name)()
        places = [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]
        for occurrence, ((line, column), _) in enumerate(places):
            if not any(first <= (line, column) < last for first, last in left_out):
                found.append(Mutant(path, name, occurrence, line))
    return tuple(found)


Span = tuple[tuple[int, int], tuple[int, int]]


def _left_out(tree: ast.Module) -> Iterator[Span]:
    """Where a change is no change of what is computed, or ends in an error when the file is read."""
    for node in ast.walk(tree):
        yield from map(_span, _without_effect(node))


def _without_effect(node: ast.AST) -> list[Any]:
    match node:
        case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
            given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
            annotations = [one.annotation for one in given if one is not None]
            return [part for part in (*annotations, node.returns, *node.decorator_list) if part is not None]
        case ast.ClassDef():
            return [*node.decorator_list, *node.bases]
        case ast.AnnAssign():
            return [node.annotation]
        case ast.Call(func=ast.Name(id="Field" | "option" | "TypeVar")) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return [node]
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Assert():
            return [node]
        case ast.Subscript(value=value) if _names_a_type(value):
            return [node]
    return []


def _names_a_type(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in ("Callable", "Literal", "Annotated", "dict", "list", "tuple", "Mapping", "Sequence", "Float", "Int")


def _span(node: Any) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
