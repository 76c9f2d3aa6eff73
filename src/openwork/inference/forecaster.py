"""Forecasts of series: continuations that a language model of bins samples (Ansari et al. 2024, section 3.2)."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from openwork.base.errors import UsageError
from openwork.base.symbols import SYMBOL_IDS
from openwork.base.tasks import command_for
from openwork.bundles.bundle import Bundle
from openwork.inference.batches import padded
from openwork.signals.bins import Bins
from openwork.text.tokenizer import SYMBOL_NAMES


class Forecaster:
    """Samples how series go on. `settings`: those of the bundle's [series]."""

    def __init__(self, bundle: Bundle) -> None:
        """UsageError for a bundle that was not trained on series."""
        if bundle.settings.series is None:
            raise UsageError(
                "this model reads no series",
                hint=f"{command_for(bundle.settings)} is for it; or train one with a section [series]",
                code="U127",
            )
        self.settings, self.bins = bundle.settings.series, Bins(bundle.settings.series)
        self.model, self.first = bundle.model.eval(), len(SYMBOL_NAMES)  # the id of the first bin
        most = bundle.model.maximum_length
        self.most_steps = None if most is None else max(most - 1 - self.settings.context, 0)  # START has a place too

    @torch.inference_mode()
    def sample(self, history: Sequence[float], steps: int, samples: int, seed: int = 0) -> NDArray[np.float64]:
        """Values (sample, step) that may follow a history of one value or more; the same for the same seed.

        Of the history the last `settings.context` values are read. UsageError for more steps than the model has
        positions for.
        """
        if self.most_steps is not None and steps > self.most_steps:
            raise UsageError(
                f"{steps:,} steps are too many: after its context this model has places for {self.most_steps:,}",
                hint=f"give --steps {self.most_steps}, or train with a larger model.maximum_length",
                code="U128",
            )
        context = history[-self.settings.context :]
        scale = self.bins.scale(context)
        device = next(self.model.parameters()).device
        random = torch.Generator().manual_seed(seed)  # on the CPU: the same draws on every device
        ids = [self.first + number for number in self.bins.numbers(context, scale)]
        state = self.model.start(*padded([ids], device)).select(torch.zeros(samples, dtype=torch.long, device=device))
        tokens = torch.full((samples, 1), SYMBOL_IDS.start, device=device)  # replaced by the context's last value
        drawn = []
        for _ in range(steps):
            logits, state = self.model.step(tokens, state)
            # no forecast ends or holds another symbol
            probabilities = logits[:, -1, self.first :].double().softmax(-1).cpu()
            drawn.append(torch.multinomial(probabilities, 1, generator=random))
            tokens = drawn[-1].to(device) + self.first
        numbers = torch.cat(drawn, dim=1).tolist()
        return np.array([self.bins.values(row, scale) for row in numbers])
