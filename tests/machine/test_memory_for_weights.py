"""A model that no memory here holds is refused before it is built."""

import pytest

from openwork.base.errors import OpenworkError, wants_memory
from openwork.cost.cost import weights_of
from openwork.machine.available import check_memory
from openwork.models.settings import TransformerSettings


def test_weights_that_take_more_than_is_free():
    check_memory(250, 1000)
    with pytest.raises(OpenworkError, match="the model has 251 weights"):
        check_memory(251, 1000)


def test_the_greatest_model_is_counted_without_being_built():
    """By hand, of its feed-forward networks alone: two matrices for each of 2,000 layers."""
    width = 2**17
    settings = TransformerSettings(
        width=width, heads=1024, feedforward_width=width, encoder_layers=1000, decoder_layers=1000
    )
    assert weights_of(settings, 1000) > 2000 * 2 * width**2


def test_libraries_that_do_not_fit_want_memory():
    assert wants_memory(ImportError("libtorch_cpu.so: failed to map segment from shared object"))
    assert not wants_memory(ImportError("No module named 'torch'"))
