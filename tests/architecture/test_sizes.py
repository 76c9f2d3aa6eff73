"""Small files, small functions, few parameters, and names that say something."""

import ast
from collections.abc import Callable
from functools import cache

from architecture.house import (
    EMPTY_NAMES,
    LARGEST_SHARE,
    LONG_FOLDERS,
    MOST_FILES_A_FOLDER,
    MOST_LINES_A_FILE,
    MOST_LINES_A_FUNCTION,
    MOST_PARAMETERS,
    SIZE_EXCEPTIONS,
    Source,
    house,
    nodes,
)

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


def function_lines(function: AnyFunction) -> int:
    """From the first decorator to the last line."""
    first = min([function.lineno, *(item.lineno for item in function.decorator_list)])
    return (function.end_lineno or function.lineno) - first + 1


def parameter_count(function: AnyFunction) -> int:
    """All parameters, without `self` and `cls`."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    bound = bool(named) and named[0].arg in {"self", "cls"}
    starred = (arguments.vararg is not None) + (arguments.kwarg is not None)
    return len(named) - bound + len(arguments.kwonlyargs) + starred


def too_large(source: Source) -> dict[str, str]:
    """What breaks a size in one file: its place -> the size."""
    found = {}
    if source.line_count > MOST_LINES_A_FILE:
        found[source.place] = f"{source.line_count} lines, more than {MOST_LINES_A_FILE}"
    for function in source.functions():
        lines, parameters = function_lines(function), parameter_count(function)
        place = f"{source.place}::{function.name}"
        if lines > MOST_LINES_A_FUNCTION:
            found[place] = f"{lines} lines, more than {MOST_LINES_A_FUNCTION}"
        elif parameters > MOST_PARAMETERS:
            found[place] = f"{parameters} parameters, more than {MOST_PARAMETERS}"
    return found


@cache
def all_too_large() -> dict[str, str]:
    return {place: size for source in house().sources for place, size in too_large(source).items()}


def test_sizes():
    assert {place: size for place, size in all_too_large().items() if place not in SIZE_EXCEPTIONS} == {}


def test_every_exception_is_still_needed_and_has_a_reason():
    assert set(SIZE_EXCEPTIONS) <= set(all_too_large())
    assert all(reason.strip() for reason in SIZE_EXCEPTIONS.values())


def test_names_say_something():
    parts = {part for source in house().sources for part in source.module.split(".")}
    assert {part for part in parts if part in EMPTY_NAMES or EMPTY_NAMES & set(part.split("_"))} == set()


def test_a_folder_can_be_read_at_a_glance():
    counts = {place: count for place, count in house().files_by_folder().items() if place not in LONG_FOLDERS}
    assert {place: count for place, count in counts.items() if count > MOST_FILES_A_FOLDER} == {}
    assert all(house().files_by_folder()[place] > MOST_FILES_A_FOLDER for place in LONG_FOLDERS), "no longer needed"


def test_no_folder_holds_most_of_the_package():
    sizes = {floor: lines for floor, (_, lines) in house().sizes().items()}
    total = sum(sizes.values())
    assert {floor: lines for floor, lines in sizes.items() if lines > LARGEST_SHARE * total} == {}


def test_a_class_name_is_used_once():
    """The documents' interface has the documents' names, some of which are also the paper's."""
    places: dict[str, list[str]] = {}
    for source in house().sources:
        if not source.place.startswith("study/annotated/"):
            for node in nodes(source.tree):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(source.place)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_measures():
    """Worked by hand: one decorator line and three lines of body and head; five parameters beside `self`."""
    module = ast.parse(
        "class A:\n    @staticmethod\n    def f(self, a, /, b, *c, d=1, **e):\n        x = 1\n        return x"
    )
    function = next(node for node in ast.walk(module) if isinstance(node, ast.FunctionDef))
    assert function_lines(function) == 4
    assert parameter_count(function) == 5


def test_count_floors_and_folders(counted: Callable[[str], None]):
    sizes = house().sizes()
    total = sum(lines for _, lines in sizes.values())
    for floor, (files, lines) in reversed(sizes.items()):
        counted(f"{floor:<12}{files:>5} files {lines:>6} lines {lines / total:>6.1%}")
    counted(f"{'in all':<12}{sum(files for files, _ in sizes.values()):>5} files {total:>6} lines")
    fullest = sorted(house().files_by_folder().items(), key=lambda place: -place[1])[:3]
    counted("most files in a folder: " + ", ".join(f"{folder} {count}" for folder, count in fullest))
    assert total > 0
