"""Values of a calculation noted as steps while it runs; the step that made an input is found by its storage."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from torch import Tensor, nn

from openwork.inspection.trace import Step

Side = Literal["source", "target"]


@dataclass(frozen=True)
class StepKind:
    """What all steps of a kind have in common.

    Args:
        title: the calculation, a sentence of the catalogue.
        equation: as text.
        axes: of the value, without the batch.
        code: the function or module class that makes the value; None for what is given.
        source: the paper that defines it.
        inner: whether it is a detail within a sub-layer.
    """

    title: str
    equation: str
    axes: tuple[str, ...]
    code: Callable[..., Any] | None
    source: str = ""
    inner: bool = False

    @property
    def qualified_name(self) -> str:
        """The name of the code: "openwork.nn.kernels.reference.softmax_over"."""
        return "" if self.code is None else f"{self.code.__module__}.{self.code.__qualname__}"


class Recorder:
    """Steps in the order of calculation. `pieces` are the labels of the positions of either side.

    `side`: the side whose positions are being computed; the caller of the model sets it.
    """

    def __init__(self, pieces: Mapping[Side, Sequence[str]]) -> None:
        self.pieces = pieces
        self.side: Side = "source"
        self.steps: list[Step] = []
        self.inner: set[str] = set()
        self._weights: dict[int, str] = {}  # identity of a weight -> its name in the model
        self._makers: dict[int, str] = {}  # address of a tensor's numbers -> the step that made them
        self._kept: list[Tensor] = []  # as long as they live, no address is used twice

    def know(self, model: nn.Module) -> None:
        """Names the weights and buffers of the model; shared ones have one name."""
        self._weights = {id(weight): name for name, weight in (*model.named_parameters(), *model.named_buffers())}

    def note(
        self,
        name: str,
        kind: StepKind,
        value: Tensor,
        inputs: Sequence[Tensor | str] = (),
        *,
        parameters: Iterable[Tensor] = (),
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Adds a step. `value` has a batch of one. Inputs that are tensors, or views of them, become their makers."""
        makers = (one if isinstance(one, str) else self._makers.get(_address(one), "") for one in inputs)
        # keys of the other side are given as `labels`
        pieces = {axis: self.pieces[self.side] for axis in kind.axes if axis in ("position", "query", "key")}
        step = Step(
            name=name,
            title=kind.title,
            equation=kind.equation,
            value=np.array(value[0].detach().cpu().numpy()),
            axes=kind.axes,
            inputs=tuple(maker for maker in makers if maker),
            code=kind.qualified_name,
            source=kind.source,
            labels={**pieces, **(labels or {})},
            parameters=tuple(self._weights[id(weight)] for weight in parameters),
        )
        self.steps.append(step)
        if kind.inner:
            self.inner.add(name)
        self._makers[_address(value)] = name
        self._kept.append(value)


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
