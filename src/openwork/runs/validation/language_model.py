"""Validation while training a model that predicts texts: the loss alone, since it writes none."""

from typing import Any

from openwork.runs.validation.validator import Validator


class LanguageModelValidator(Validator):
    """Looks at the same held-out texts each time, as `Validator` does, and shows no sample."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.pairs, self.shown = [], []
