"""Every study, in one table, and how one is run. No torch here: what calculates a study is loaded when it is run."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from openwork.base.config import Layer, Settings, apply_assignments, build
from openwork.base.errors import UsageError
from openwork.study.studies.settings import (
    DepthSettings,
    LayerStudySettings,
    OrderSettings,
    RecurrenceSettings,
    RotationSettings,
    ScaleSettings,
)
from openwork.study.studies.study import Result, Study


def calculated_by(file: str) -> Callable[[Any], Result]:
    """The function `run` of a file beside this one."""

    def run(sizes: Any) -> Result:
        return import_module(f"openwork.study.studies.{file}").run(sizes)

    return run


_ALL = (
    Study(
        "gradients-through-time",
        "Vanishing gradients: how much of it comes back through a recurrent network",
        "Each step back multiplies an RNN's gradient by less than its matrix's norm, so it vanishes; an LSTM keeps "
        "more of it as long as its forget gates are open, and self-attention reaches every position in one step.",
        "Hochreiter et al. 2001, section 2; Pascanu et al. 2013, section 2; Vaswani et al. 2017, section 4",
        RecurrenceSettings,
        calculated_by("recurrence"),
    ),
    Study(
        "depth",
        "Many layers with and without residual connections",
        "Without residual connections the gradient dies out on its way to the first layer; with them the identity "
        "carries it. Norms between the sums change it too, so the paper's post-norm is not free of loss.",
        "He et al. 2016, section 3; Vaswani et al. 2017, section 3.1; Xiong et al. 2020, section 3",
        DepthSettings,
        calculated_by("depth"),
    ),
    Study(
        "score-scale",
        "Attention scores with and without 1 / sqrt(d_k)",
        "The variance of plain products grows with d_k, the largest weight nears 1, and the softmax has no slope left "
        "to learn by; divided by sqrt(d_k), all three stay where they are.",
        "Vaswani et al. 2017, section 3.2.1 and footnote 4",
        ScaleSettings,
        calculated_by("scale"),
    ),
    Study(
        "order",
        "What self-attention knows of the order of its input",
        "Without positions the difference is rounding: a permuted sentence gets the same vectors, permuted. Positions "
        "make it a different sentence.",
        "Vaswani et al. 2017, section 3.5; Lee et al. 2019, property 1",
        OrderSettings,
        calculated_by("order"),
    ),
    Study(
        "position-rotation",
        "PE(pos + k) as a rotation of PE(pos)",
        "One rotation for each offset k moves the sinusoids of any position by k; that is why attention can learn to "
        "look a fixed distance away.",
        "Vaswani et al. 2017, section 3.5",
        RotationSettings,
        calculated_by("rotation"),
    ),
    Study(
        "layer-costs",
        "Self-attention, recurrent and convolutional layers beside table 1 of the paper",
        "Self-attention needs the same number of serial steps at any length and joins any two positions directly, and "
        "pays with operations that grow with the square of the length.",
        "Vaswani et al. 2017, table 1 and section 4",
        LayerStudySettings,
        calculated_by("layers"),
    ),
)
STUDIES: dict[str, Study] = {study.name: study for study in _ALL}


def find_study(name: str) -> Study:
    """The study of that name; UsageError if there is none."""
    if name not in STUDIES:
        raise UsageError(f"no study is named {name}", hint=f"there are: {', '.join(STUDIES)}", code="U036")
    return STUDIES[name]


def sizes_of(study: Study, assignments: Sequence[str]) -> Settings:
    """Its sizes, with assignments such as `steps=50` laid over the defaults; ConfigError for those it does not have."""
    layer = apply_assignments(Layer(), assignments)
    return build(study.settings, layer.mapping, layer.origins)
