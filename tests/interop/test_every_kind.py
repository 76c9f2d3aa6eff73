"""Whatever a model can be made of, an export says the same as the bundle or is refused: nothing is left out."""

from typing import get_args

import pytest

from interop.small_bundles import FOR_MARIAN, TEXTS, small_bundle
from openwork.checks.check import NotApplicable
from openwork.checks.context import VerifyContext
from openwork.checks.keeping import exported
from openwork.inference.golden import make_golden
from openwork.interop.forms import FORMS
from openwork.models.settings import TransformerSettings

pytestmark = pytest.mark.slow

KINDS = [
    {key: value}
    for key in ("norm", "normalisation", "feedforward", "positions", "tying", "start_vector")
    for value in get_args(TransformerSettings.model_fields[key].annotation)
] + [
    {"attention_bias": True}, {"output_bias": True}, {"embedding_norm": True}, {"embedding_scale": False},
    {"key_value_heads": 1}, {"value_width": 5}, {"head_width": 6}, {"embedding_width": 8}, {"norm_epsilon": 0.1},
]  # fmt: skip
EXTRA: dict[tuple[str, object], dict[str, object]] = {
    ("positions", "learned"): {"maximum_length": 40},
    ("positions", "relative"): {"relative_distance": 2},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("changes", KINDS, ids=lambda changes: " ".join(f"{k}={v}" for k, v in changes.items()))
def test_each_kind_is_exported_whole_or_refused(form: str, changes: dict[str, object]) -> None:
    (item,) = changes.items()
    needed = FOR_MARIAN if form == "marian" else {}
    bundle = make_golden(small_bundle(**{**needed, **changes, **EXTRA.get(item, {})}), TEXTS[:3])
    try:
        finding = exported(FORMS[form])(VerifyContext(bundle))
    except NotApplicable as refused:
        assert str(refused)
    else:
        assert finding.passed, finding
