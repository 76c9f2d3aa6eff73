"""Whatever a model can be made of, an export says the same as the bundle or is refused: nothing is left out."""

from typing import get_args

import pytest

from interop.small_bundles import TEXTS, small_bundle
from openwork.checks.check import NotApplicable
from openwork.checks.context import VerifyContext
from openwork.checks.keeping import exported
from openwork.inference.golden import make_golden
from openwork.interop.forms import FORMS
from openwork.models.settings import TransformerSettings

pytestmark = pytest.mark.slow

KINDS = [
    {key: value}
    for key in ("norm", "normalisation", "feedforward", "positions", "tying")
    for value in get_args(TransformerSettings.model_fields[key].annotation)
] + [
    {"attention_bias": True}, {"output_bias": True}, {"embedding_norm": True}, {"embedding_scale": False},
    {"key_value_heads": 1}, {"value_width": 5}, {"head_width": 6}, {"embedding_width": 8}, {"norm_epsilon": 0.1},
]  # fmt: skip
EXTRA: dict[object, dict[str, object]] = {"learned": {"maximum_length": 40}, "relative": {"relative_distance": 2}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("changes", KINDS, ids=lambda changes: " ".join(f"{k}={v}" for k, v in changes.items()))
def test_each_kind_is_exported_whole_or_refused(form: str, changes: dict[str, object]) -> None:
    (value,) = changes.values()
    bundle = make_golden(small_bundle(**changes, **EXTRA.get(value, {})), TEXTS[:3])
    try:
        finding = exported(FORMS[form])(VerifyContext(bundle))
    except NotApplicable as refused:
        assert str(refused)
    else:
        assert finding.passed, finding
