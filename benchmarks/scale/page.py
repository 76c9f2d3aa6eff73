"""Writes docs/scale.md and its Chinese twin: the texts beside this file, with figures of `sizes.py` and measured ones.

PYTHONPATH=benchmarks python -m scale.page [FOLDER]
"""

import json
import sys
from pathlib import Path

import jinja2

from openwork.cost.communication import BETWEEN, BUCKET, INSIDE
from openwork.runs.plan import size_text
from scale import sizes

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
MEASURED = DOCS.parent / "benchmarks" / "results" / "distributed.json"
PAGES = ("scale.md", "scale.zh-CN.md")


def three(value: float) -> str:
    """Rounded to three digits."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def share(value: float) -> str:
    """In percent; above, how many times."""
    return f"{100 * value:.0f} %" if value < 10 else f"{three(value)} ×"


def render(page: str) -> str:
    """The text of a page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, autoescape=False,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"size": size_text, "three": three, "share": share}
    constants = {"BUCKET": BUCKET, "INSIDE": INSIDE, "BETWEEN": BETWEEN}
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    return environment.get_template(page).render({**vars(sizes), **constants, **measured})


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    for page in PAGES:
        (folder / page).write_text(render(page), encoding="utf-8")


if __name__ == "__main__":
    main()
