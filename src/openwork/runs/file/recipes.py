"""The recipes that come with openwork: run files that are found by name. No torch here."""

import difflib
import os
import re
from functools import cache
from itertools import takewhile
from pathlib import Path
from textwrap import shorten

import openwork
from openwork.base.errors import ConfigError
from openwork.base.phrases import AsIs

_MOST_NEAR = 3
RUN_FILE = "run.toml"  # of a run's folder
_MOST_LETTERS = 72


@cache
def recipes_by_name() -> dict[str, Path]:
    """Every recipe under its name: its path below `recipes/`, without the suffix, such as family/dates."""
    package = Path(openwork.__file__).parent
    folders = (package / "recipes", package.parents[1] / "recipes")  # in a wheel, or beside the sources
    found = ((path.relative_to(folder), path) for folder in folders for path in sorted(folder.rglob("*.toml")))
    return {name.with_suffix("").as_posix(): path for name, path in found}


def recipes() -> tuple[Path, ...]:
    """The demo's run file and the recipes that train from scratch."""
    demo = Path(openwork.__file__).parent / "demo" / "demo.toml"
    return (demo, *(path for name, path in recipes_by_name().items() if "/" not in name))


def recipe_lines() -> list[str]:
    """A line for each recipe: its name, and the first sentence of its comment."""
    width = max(map(len, recipes_by_name()), default=0)
    return [AsIs(f"{name:<{width}}  {_purpose(path)}") for name, path in recipes_by_name().items()]


def _purpose(path: Path) -> str:
    """The first sentence of the file's comment, cut off where a line of the terminal ends."""
    comment = takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    sentence = re.split(r"(?<=[.?]) ", " ".join(line.removeprefix("#").strip() for line in comment))[0]
    return shorten(sentence.removesuffix("."), _MOST_LETTERS, placeholder=" ...")


def find_run_file(path: Path) -> Path:
    """The path itself if it exists, or else the recipe of that name. `ConfigError` names the nearest recipes."""
    known, name = recipes_by_name(), path.as_posix()
    if os.path.lexists(path) or name in known:
        return path if os.path.lexists(path) else known[name]
    near = _nearest(name)
    if not near:
        return path
    raise ConfigError(
        f"{path}: no such run file and no recipe of that name",
        hint=f"did you mean {' or '.join(near)}? openwork config recipes lists all",
        code="C107",
    )


def _nearest(name: str) -> list[str]:
    """Names that are like it, or whose last part is; a name with .toml must be more like one than a bare one."""
    stem = name.removesuffix(".toml").rpartition("/")[2]
    by_last_part = {known.rpartition("/")[2]: known for known in recipes_by_name()}
    cutoff = 0.75 if name.endswith(".toml") else 0.4
    return [by_last_part[part] for part in difflib.get_close_matches(stem, by_last_part, _MOST_NEAR, cutoff)]


def run_file_of(path: Path) -> Path:
    """The file itself, the one that a run's folder keeps, or a recipe's by its name."""
    return path / RUN_FILE if (path / RUN_FILE).is_file() else find_run_file(path)
