"""One object of the paper: its formula and text, its lines of code, and a forward pass that has numbers for it.

The pass is a real one: the paper's base model with one layer on each side, in float64.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch

from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.inspection.code_lines import CodeLines, code_lines
from openwork.inspection.plots import Figures
from openwork.inspection.recorder import Recorder
from openwork.inspection.trace import Trace, bridged
from openwork.inspection.tracing import trace_forward
from openwork.models.build import build_transformer
from openwork.models.presets import BASE, PRESETS
from openwork.models.settings import TransformerSettings
from openwork.study.paper.contents import CONTENTS

SCHEMA = 2  # of `Page.to_json`; a change that readers must know of raises it


class Computed(NamedTuple):
    """The numbers of an object, made by the production code: steps of a calculation, and tables."""

    trace: Trace | None = None
    tables: tuple[Figures, ...] = ()


class Page(NamedTuple):
    """All that is shown of one object, its numbers and lines of code made just now.

    `formula` is empty where the object is none. `text` says in paragraphs what the object says and where ours departs
    from it. `code` has the functions and classes that are this object here, and `tests` what holds them to it, as
    FILE::FUNCTION from the repository's root.
    """

    name: str
    title: str
    section: str
    formula: str
    text: tuple[str, ...]
    code: tuple[CodeLines, ...]
    tests: tuple[str, ...]
    trace: Trace | None
    tables: tuple[Figures, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            **self._asdict(),
            "code": [one.to_json() for one in self.code],
            "trace": None if self.trace is None else self.trace.to_json(),
            "tables": [table._asdict() | {"rows": [list(row) for row in table.rows]} for table in self.tables],
        }


EXHIBITS: dict[str, Callable[[], Page]] = {}


def exhibit(
    name: str, code: tuple[Callable[..., Any], ...], *tests: str, formula: str = ""
) -> Callable[[Callable[[], Computed]], Callable[[], Computed]]:
    """Makes an exhibit of the function that computes its numbers; the function's docstring is the page's text."""
    listed = next(one for one in CONTENTS if one.name == name)

    def add(compute: Callable[[], Computed]) -> Callable[[], Computed]:
        paragraphs = (inspect.getdoc(compute) or "").split("\n\n")
        text = tuple(" ".join(paragraph.split()) for paragraph in paragraphs)
        EXHIBITS[name] = lambda: Page(
            name, listed.title, listed.section, formula, text, tuple(map(code_lines, code)), tests, *compute()
        )
        return compute

    return add


SEED = 1
# The symbols, then the words of two sentences that mean the same.
PIECES = ("<pad>", "<unk>", "<s>", "</s>", "the", "dog", "barks", "der", "Hund", "bellt")
SOURCE, RIGHT = (4, 5, 6, SYMBOL_IDS.end), (7, 8, 9, SYMBOL_IDS.end)
GIVEN = (SYMBOL_IDS.start, *RIGHT[:-1])
ENCODER, DECODER = "encoder.layers.0", "decoder.layers.0"


def names_of(ids: Iterable[int]) -> tuple[str, ...]:
    return tuple(PIECES[one] for one in ids)


def forward_trace(*names: str, within: str = "") -> Trace:
    """The steps of these names, which are `within` a part, in the order of calculation; KeyError for unknown names.

    The layers that the base model has besides would only repeat what the first does. The weights are drawn by the seed;
    torch's own generator is left as it was.
    """
    settings = TransformerSettings.model_validate(PRESETS[BASE] | {"encoder_layers": 1, "decoder_layers": 1})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = build_transformer(settings, len(PIECES), len(PIECES))
    recorder = Recorder({"source": names_of(SOURCE), "target": names_of(GIVEN)})
    trace_forward(model, recorder, SOURCE, GIVEN)
    wanted = {within + name for name in names}
    missing = wanted - {step.name for step in recorder.steps}
    if missing:
        raise KeyError(f"the forward pass has no steps {sorted(missing)}")
    drawn = msg(
        f"The weights are drawn at random (seed {SEED}): the model has learnt nothing, its shapes are the paper's."
    )
    vocabulary = msg(f"The vocabulary has {len(PIECES)} entries; numbers are in float64, and nothing is dropped.")
    return Trace(
        "forward",
        "A forward pass with the sizes of the paper's base model, one layer on each side",
        tuple(bridged(recorder.steps, wanted)),
        (drawn, vocabulary),
    )
