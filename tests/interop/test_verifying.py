"""`openwork verify` on what a bundle becomes in other toolkits' forms: whole, with a fault made on purpose, refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from interop.small_bundles import FOR_MARIAN, TEXTS, small_bundle
from openwork.bundles.bundle import Bundle
from openwork.checks.check import CheckResult, NotApplicable
from openwork.checks.context import VerifyContext
from openwork.checks.keeping import EXPORTED, exported
from openwork.checks.verify import CHECKS, verify_bundle
from openwork.inference.golden import make_golden
from openwork.interop.forms import FORMS, ModelFormat
from openwork.models.weights import model_weights

pytestmark = pytest.mark.slow


NEEDS: dict[str, dict[str, object]] = {"marian": FOR_MARIAN}


def with_golden(**changes: object) -> Bundle:
    return make_golden(small_bundle(**changes), TEXTS[:3])


@pytest.mark.parametrize("form", FORMS)
def test_a_bundle_is_the_same_in_each_form(form: str) -> None:
    finding = exported(FORMS[form])(VerifyContext(with_golden(**NEEDS.get(form, {}))))
    assert finding.passed and finding.difference <= 1e-3


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "weight", ["decoder.layers.1.cross_attention.value.weight", "encoder.layers.1.feedforward.contract.weight"]
)
def test_weights_that_change_on_the_way_are_found(form: str, weight: str) -> None:
    def write(folder: Path, bundle: Bundle) -> None:
        other = replace(bundle, model=small_bundle(**NEEDS.get(form, {})).model)
        with torch.no_grad():
            model_weights(other.model)[weight].mul_(-1)
        FORMS[form].write(folder, other)

    bundle = with_golden(**NEEDS.get(form, {}))
    finding = exported(ModelFormat(FORMS[form].read, write))(VerifyContext(bundle))
    assert not finding.passed and finding.spot is not None


def test_what_a_form_cannot_hold_is_skipped_with_its_reason() -> None:
    with pytest.raises(NotApplicable, match=r"alibi|ALiBi"):
        exported(FORMS["ct2"])(VerifyContext(with_golden(positions="alibi")))
    with pytest.raises(NotApplicable, match="no golden examples"):
        exported(FORMS["hf"])(VerifyContext(small_bundle()))


def test_they_are_lines_of_the_table() -> None:
    outcomes: list[CheckResult] = verify_bundle(with_golden(), further=EXPORTED)
    assert [one.name for one in outcomes] == [check.name for check in (*CHECKS, *EXPORTED)]
    assert [one.status.value for one in outcomes[-3:]] == ["passed", "passed", "skipped"]
