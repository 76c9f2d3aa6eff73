"""openwork explain of pictures: attention where the patches lie, attention rollout, and the steps of the label."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import openwork
from journeys.command import Finished
from openwork.api.models import Classifier
from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.inference.explain import explain
from openwork.inference.labeller import Labeller
from openwork.inference.picture_trace import reading_weights, rollout
from openwork.inspection.patches_view import shaded
from openwork.inspection.trace import Selection, Step
from openwork.inspection.trace_page import trace_content
from openwork.models.build import build_model
from openwork.models.settings import VisionSettings
from openwork.signals.patches import PicturePatches
from openwork.signals.settings import PictureSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels

pytestmark = pytest.mark.slow

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")

PICTURE = PictureSettings(height=4, width=6, channels=1, patch=2)
PIXELS = np.random.default_rng(1).integers(0, 256, (4, 6), np.uint8)
ON_PATCHES = "encoder.layers.{}.self_attention.on_patches"


def made(labels: Sequence[str] = ("cat", "dog", "owl"), **changes: Any) -> Bundle:
    """A bundle with random weights for pictures of 2 x 3 patches."""
    settings = VisionSettings(
        width=8, heads=2, feedforward_width=8, layers=2, norm="pre", positions="learned", maximum_length=7
    ).model_copy(update=changes)
    tokenizers = TokenizerPair(PicturePatches(PICTURE), Labels.of(labels))
    torch.manual_seed(3)
    model = build_model(settings, *tokenizers.sizes).eval()
    return Bundle(BundleSettings(model=settings, picture=PICTURE), tokenizers, model)


def test_rollout_of_two_layers_by_hand() -> None:
    """Layers of one head: (A2 + I) / 2 times (A1 + I) / 2."""
    first, second = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]]), torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    assert rollout([first, second]).tolist() == [[0.5, 0.5], [0.375, 0.625]]
    assert reading_weights(first, "class").tolist() == [[0.0, 1.0]]
    assert reading_weights(first, "mean").tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_the_trace_ends_in_the_label_and_shows_attention_to_each_patch(pooling: str) -> None:
    bundle = made(pooling=pooling)
    trace = explain(bundle, PIXELS, Selection(every=True))
    ((found,),) = [one.places for one in Labeller(bundle.model, bundle.tokenizers, "classify").label([PIXELS], 3)]
    probabilities = trace.step("probabilities")
    assert list(probabilities.labels["label"]) == [choice.label for choice in found]
    assert probabilities.value.tolist() == pytest.approx([choice.probability for choice in found], abs=1e-6)
    assert trace.title.endswith(f"→ {found[0].label}") and probabilities.value.sum() == pytest.approx(1)
    kept = trace.step("logits").value[4:]  # without the symbols
    powers = np.sort(np.exp(kept - kept.max()))[::-1]
    np.testing.assert_allclose(probabilities.value, powers / powers.sum(), atol=1e-14)
    patches = trace.step("source.numbers")
    assert patches.labels["patch"][5] == "1,2"  # the last patch: rows 2 and 3, columns 4 and 5
    np.testing.assert_allclose(patches.value[5], PIXELS[2:, 4:].flatten() / 255 / 0.5 - 1, atol=1e-6)
    layers = []
    for layer in range(2):
        weights = trace.step(f"encoder.layers.{layer}.self_attention.weights").value
        read = weights[:, 0] if pooling == "class" else weights[:, 1:].mean(1)
        shown = trace.step(ON_PATCHES.format(layer))
        np.testing.assert_array_equal(shown.value[1, 1, 2], read[1, 6])
        assert shown.value.shape == (2, 2, 3) and shown.axes == ("head", "row", "column")
        layers.append((weights.mean(0) + np.eye(7)) / 2)
    through = layers[1] @ layers[0]
    read = through[0] if pooling == "class" else through[1:].mean(0)
    np.testing.assert_allclose(trace.step("rollout").value.flatten(), read[1:], atol=1e-12)
    assert through.sum(-1) == pytest.approx(1)  # each row is a distribution over the positions


def test_every_step_is_made_from_steps_and_the_vectors_lead_to_the_label() -> None:
    trace = explain(made(), PIXELS, Selection(every=True))
    names = [step.name for step in trace.steps]
    assert len(names) == len(set(names)) and all(set(step.inputs) <= set(names) for step in trace.steps)
    steps = {step.name: step for step in trace.steps}
    assert steps["source.embedding"].inputs == ("source.patches",)
    assert steps["source.sum"].inputs == ("source.embedding", "source.positions")
    assert steps["read"].inputs == ("encoder.final_norm",)
    np.testing.assert_array_equal(steps["read"].value, steps["encoder.final_norm"].value[0])
    assert steps["source.patches"].value.shape == (6, 8) and steps["source.embedding"].value.shape == (7, 8)


def test_without_a_layer_the_label_and_attention_are_shown() -> None:
    overview = [step.name for step in explain(made(), PIXELS, Selection()).steps]
    assert overview == ["probabilities", ON_PATCHES.format(0), ON_PATCHES.format(1), "rollout"]
    one = explain(made(), PIXELS, Selection(layer=1, head=0))
    assert one.step(ON_PATCHES.format(1)).value.shape == (1, 2, 3)
    assert not any(".layers.0." in step.name for step in one.steps)


STEP = Step("a", "", "", np.array([[[0.0, 0.1], [0.2, 0.4]], [[1.0, 0.0], [0.0, 0.0]]]), ("head", "row", "column"))


def test_a_terminal_shows_heads_side_by_side_in_shades() -> None:
    lines = [line.rstrip() for line in shaded(STEP, 60, str)]
    assert lines == ["head 0  largest 0.4000  head 1  largest 1.0000", "  ░░" + " " * 20 + "██", "▒▒██"]
    below = [line.rstrip() for line in shaded(STEP, 30, str)]
    assert below[:4] == ["head 0  largest 0.4000", "  ░░", "▒▒██", ""] and below[4].startswith("head 1")
    wide = Step("a", "", "", np.arange(1, 31.0).reshape(3, 10), ("row", "column"))
    caption, first, second = (line.rstrip() for line in shaded(wide, 12, str))
    assert caption == "largest 30.0000"
    assert (first, second) == ("▒▒▒▒▓▓▓▓▓▓", "▓▓████████")  # of each four patches the largest: 12, 14 ... 20; 22 ... 30


def test_a_page_has_the_picture_and_each_head_on_its_patches() -> None:
    import base64
    import io

    trace = explain(made(), PIXELS, Selection())
    content = trace_content(trace)
    data = content["picture"]["url"].removeprefix("data:image/png;base64,")
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))), PIXELS)
    assert [step["name"] for step in content["steps"] if step["isOnPatches"]] == [
        ON_PATCHES.format(0), ON_PATCHES.format(1), "rollout"
    ]  # fmt: skip


def test_the_command_and_python(call: Callable[..., Finished], tmp_path: Path) -> None:
    write_bundle(tmp_path / "animals", made())
    Image.fromarray(PIXELS).save(tmp_path / "one.png")
    shown = call("explain", tmp_path / "animals", tmp_path / "one.png")
    assert shown.code == 0 and "█" in shown.out.decode() and "rollout" in shown.out.decode()
    as_json = json.loads(call("explain", tmp_path / "animals", tmp_path / "one.png", "--json").out)
    html = call("explain", tmp_path / "animals", tmp_path / "one.png", "--html", tmp_path / "one.html")
    assert html.code == 0 and "data:image/png" in (tmp_path / "one.html").read_text(encoding="utf-8")
    model = openwork.load(tmp_path / "animals")
    assert isinstance(model, Classifier)
    explained = model.explain(tmp_path / "one.png")
    assert (
        explained.trace.to_json() == as_json
        and explained._repr_html_().startswith("<iframe srcdoc=")
        and "█" in str(explained)
    )
    assert model.explain(PIXELS, layer=0).trace.step("rollout").value.shape == (2, 3)
    missing = call("explain", tmp_path / "animals", tmp_path / "two.png")
    assert missing.code == 3 and "there is no such picture" in missing.err and missing.out == b""


@pytest.mark.parametrize("changes", [{"attention": "relu"}, {"feedforward_rank": 2}])
def test_other_layers_are_refused_in_a_sentence(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="cannot be explained"):
        explain(made(**changes), PIXELS, Selection())
