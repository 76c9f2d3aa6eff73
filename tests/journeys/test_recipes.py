"""Every run file that the project ships says what it means: it is read, checked, and built in miniature."""

from pathlib import Path

import pytest
import torch

from openwork.base.config import Layer, read_run_file
from openwork.data.corpora import find
from openwork.models.build import build_model
from openwork.systems.run_file import resolve_run

REPOSITORY = Path(__file__).resolve().parents[2]
RECIPES = [*sorted((REPOSITORY / "recipes").glob("*.toml")), REPOSITORY / "src/openwork/systems/demo.toml"]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_is_read_and_built(path: Path):
    settings = resolve_run(read_run_file(path))
    assert settings.data.corpus is not None
    find(settings.data.corpus)
    assert settings.training.steps >= settings.training.validate_every
    with torch.device("meta"):  # the sizes of the recipe, without their memory
        whole = build_model(settings.model, settings.text.vocabulary_size, settings.text.vocabulary_size)
    assert sum(parameter.numel() for parameter in whole.parameters()) > 1000


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_computes_in_miniature(path: Path):
    """The same choices with a width of 8: a sentence goes in, logits for each target position come out."""
    layer = read_run_file(path)
    small = {"width": 8, "heads": 2, "feedforward_width": 8, "encoder_layers": 1, "decoder_layers": 1}
    mapping = {**layer.mapping, "model": {**layer.mapping.get("model", {}), **small}}
    model = build_model(resolve_run(Layer(mapping, layer.origins)).model, 20, 20).eval()
    source, target = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]])
    assert model(source, torch.tensor([3]), target).shape == (1, 2, 8)


def test_there_are_the_recipes_that_are_promised():
    assert {"copy", "reverse", "demo"} <= {path.stem for path in RECIPES}
