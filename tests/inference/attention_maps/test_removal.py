"""A head that is removed: its output is zero before W^O, while the search translates."""

from typing import Any

import pytest
import torch
from torch import Tensor

from inference.attention_maps.bundles import CONVOLUTIONS, bundle_of
from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import capture
from openwork.inference.attention_maps.forced import ForcedTranslation
from openwork.inference.attention_maps.maps import KINDS, Kind
from openwork.inference.attention_maps.removal import HeadName, translate_without, without_head
from openwork.inference.translator import BatchTranslator
from openwork.nn.kernels import Kernel
from openwork.nn.recording import lending

TEXT = "a b c d"


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return bundle_of()


@pytest.mark.parametrize("kind", KINDS)
def test_zero_rows_of_the_output_projection_are_a_zero_head(bundle: Bundle, kind: Kind):
    """Two ways: by the weights, and by the kernel's output."""
    found, head = capture(bundle, TEXT), HeadName(kind, 1, 0)
    forced = ForcedTranslation.of(bundle.model, found.source_ids, found.output_ids)  # type: ignore[arg-type]
    place = head.name.rpartition(".")[0]

    def kernel_of(name: str) -> Kernel:
        whole: Kernel = bundle.model.get_submodule(name).kernel  # type: ignore[assignment]

        def without(*given: Any, **named: Any) -> Tensor:
            heads = whole(*given, **named).clone()
            heads[:, head.head] = 0
            return heads

        return without if name == place else whole

    with torch.no_grad():
        with without_head(bundle.model, head.name):
            one = forced.terms(forced.source[None])
        with lending(bundle.model, kernel_of):
            other = forced.terms(forced.source[None])
        whole = forced.terms(forced.source[None])
    torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
    assert not torch.allclose(one, whole, atol=1e-3)


def test_the_search_goes_without_the_head_and_then_with_it_again(bundle: Bundle):
    before = BatchTranslator.of(bundle).translate([TEXT])[0][0]
    changed = [translate_without(bundle, TEXT, HeadName("cross", layer, head)) for layer in (0, 1) for head in (0, 1)]
    assert any(one.log_probability != pytest.approx(before.log_probability, abs=1e-3) for one in changed)
    assert BatchTranslator.of(bundle).translate([TEXT])[0][0] == before
    with without_head(bundle.model, "decoder.layers.1.cross_attention.2"):
        again = BatchTranslator.of(bundle).translate([TEXT])[0][0]
    assert again.text == changed[3].text and again.log_probability == pytest.approx(changed[3].log_probability)


def test_names_of_heads():
    assert HeadName.read("cross:0:3") == HeadName("cross", 0, 3) and str(HeadName("decoder", 1, 2)) == "decoder:1:2"
    assert HeadName("encoder", 4, 0).name == "encoder.layers.4.self_attention.1"
    assert HeadName("decoder", 1, 2).name == "decoder.layers.1.self_attention.3"
    assert HeadName("cross", 0, 3).name == "decoder.layers.0.cross_attention.4"


@pytest.mark.parametrize(
    "text", ["", "cross", "cross:0", "cross:0:1:2", "self:0:1", "cross:-1:0", "cross:a:0", "cross:²:0"]
)
def test_other_names_are_refused(text: str):
    with pytest.raises(ValueError):
        HeadName.read(text)


@pytest.mark.parametrize(
    ("model", "head", "sentence"),
    [
        ({}, HeadName("cross", 2, 0), "there is no layer 2"),
        ({}, HeadName("encoder", 0, 2), "there is no head 2"),
        (CONVOLUTIONS, HeadName("cross", 0, 0), "this model has no attention heads that can be removed"),
        ({"kind": "recurrent", "width": 8}, HeadName("cross", 0, 0), "no attention heads that can be removed"),
    ],
)
def test_heads_that_there_are_not(model: dict[str, Any], head: HeadName, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        translate_without(bundle_of(**model), TEXT, head)
