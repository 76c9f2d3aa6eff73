"""The map of a model: its boxes hold all weights and operations, and what they name exists."""

import importlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from calling import Call
from openwork.cost.cost import cost_of
from openwork.cost.info import preset_sizes
from openwork.cost.model_map.boxes import boxes_of
from openwork.cost.model_map.family import FAMILY, bundle_map, map_page, preset_map
from openwork.cost.model_map.maps import MapPages, ModelMap, map_of
from openwork.inspection.code_lines import code_lines
from openwork.models.build import build_model
from openwork.models.families import FAMILIES, model_settings
from openwork.models.interfaces import count_weights
from openwork.models.presets import BASE, PRESETS
from openwork.models.weights import empty_weights
from openwork.study.paper.contents import CONTENTS

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = pytest.mark.slow
SHOWN = [name for name in PRESETS if not name.startswith("table3")]


@cache
def drawn(name: str) -> ModelMap:
    return preset_map(name)


def at(of: ModelMap, slot: str) -> Any:
    return next(box for box in of.boxes if box.placed.slot == slot)


@pytest.mark.parametrize("name", SHOWN)
def test_sums_are_those_of_info(name: str) -> None:
    settings = model_settings(PRESETS[name])
    made, sizes = drawn(name), preset_sizes(settings)
    cost = cost_of(settings, *sizes)
    with empty_weights():
        assert made.weights == cost.weights == count_weights(build_model(settings, *sizes))
    assert made.lengths == cost.lengths
    assert made.operations == pytest.approx(cost.forward_flops * cost.lengths.target, rel=1e-12)


@pytest.mark.parametrize("name", SHOWN)
def test_each_box_is_known_and_each_slot_is_one(name: str) -> None:
    made = drawn(name)
    assert all(box.placed.role != "other" for box in made.boxes)
    slots = [box.placed.slot for box in made.boxes]
    assert len(set(slots)) == len(slots) and {"output", "softmax"} <= set(slots)


@pytest.mark.parametrize("name", SHOWN)
def test_the_lines_of_code_are_those_of_what_is_named(name: str) -> None:
    for one in MapPages().content([drawn(name)], FAMILY)["code"]:
        module = one["file"].removesuffix(".py").replace("/", ".")
        found: Any = importlib.import_module(module)
        for part in one["name"].removeprefix(f"{module}.").split("."):
            found = getattr(found, part)
        assert code_lines(found).to_json() == one
        assert one["source"].splitlines()[0].startswith(("def ", "class ", "@"))


def test_what_the_paper_calls_it_exists_there() -> None:
    known = {one.name: one.section for one in CONTENTS}
    named = {exhibit for name in SHOWN for box in drawn(name).boxes for exhibit in box.meaning.exhibits}
    assert {"eq 1", "eq 2", "formula residual", "formula positions", "formula embedding"} <= named <= known.keys()


def test_the_family_has_all_kinds_that_the_figure_is_asked_for() -> None:
    kinds = {model_settings(PRESETS[name]).kind for name in FAMILY}
    assert {"transformer", "encoder", "decoder", "vit", "whisper", "captioner", "cnn", "recurrent"} <= kinds


def test_the_paper_by_hand() -> None:
    """The base model: four matrices of 512 x 512 an attention, a shared matrix, 6 layers on each side."""
    made = drawn(BASE)
    assert at(made, "encoder.self_attention").count == 6 * 4 * 512 * 512
    assert at(made, "decoder.feedforward").count == 6 * (2 * 512 * 2048 + 2048 + 512)
    assert at(made, "source.embedding").count == 37_000 * 512
    assert at(made, "target.embedding").count == at(made, "output").count == 0
    assert at(made, "output").weights[0].counted_at == "source.embedding"
    assert at(made, "output").operations == 2 * 25 * 512 * 37_000
    own = 2 * 25 * 4 * 512 * 512 + 2 * 2 * 25 * 25 * 512  # four projections, then scores and weighted sums
    assert at(made, "decoder.cross_attention").operations == 6 * own
    assert at(made, "encoder.self_attention").heads == (8, 64, 64)
    assert at(made, "softmax").shape == (25, 37_000)
    assert [box.placed.slot for box in made.boxes][:4] == [
        "source.embedding", "source.positions", "encoder.self_attention", "encoder.self_attention.add",
    ]  # fmt: skip


def test_the_boxes_of_the_family_differ_as_the_models_do() -> None:
    slots = {name: {box.placed.slot for box in drawn(name).boxes} for name in FAMILY}
    sides = {name: {box.placed.side for box in drawn(name).boxes} for name in FAMILY}
    assert sides["bert-base"] == {"source"} and sides["gpt-small"] == {"target"}
    assert "decoder.cross_attention" not in slots["gpt-small"] and "segments" in slots["bert-base"]
    assert at(drawn("vit-base"), "source.embedding").placed.role == "patches"
    assert at(drawn("whisper-tiny"), "source.embedding").placed.role == "stem"
    assert "target.positions" not in slots["llama-small"]  # they act inside attention
    assert at(drawn("nano"), "encoder.feedforward.norm").meaning.formulas == ("LayerNorm(x)",)
    assert at(drawn("llama-small"), "decoder.feedforward").meaning.formulas == ("FFN(x) = (SiLU(x W) ∘ x V) W_2",)
    assert "q = R_pos W_q x, k = R_pos W_k x" in at(drawn("llama-small"), "decoder.self_attention").meaning.formulas
    assert (
        "Attention(Q, K, V) = softmax(Q K^T + B) V" in at(drawn("t5-small"), "encoder.self_attention").meaning.formulas
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"norm": "branch"}, {"norm": "none"}, {"norm": "no-residual"}, {"embedding_width": 8, "norm": "pre"},
        {"layer_sharing": True}, {"tying": "none", "output_bias": True}, {"attention": "additive"},
        {"attention": "relu"}, {"attention": "linear"}, {"positions": "relative"}, {"feedforward": "convolution"},
        {"feedforward_rank": 4}, {"normalisation": "batch"},
        {"attention_pattern": "window"}, {"attention_pattern": "blocks"},
        {"attention_pattern": "low-rank", "positions": "learned", "maximum_length": 20},
    ],
    ids=str,
)  # fmt: skip
def test_options_of_the_transformer_leave_nothing_out(changed: dict[str, object]) -> None:
    values = {"width": 16, "feedforward_width": 32, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, **changed}
    made = map_of("small", model_settings(values), (30, 30), length=7)
    assert made.weights > 0 and all(box.placed.role != "other" for box in made.boxes)
    MapPages().content([made], FAMILY)


@pytest.mark.parametrize("task", ["fill", "tag", "answer", "embed"])
def test_tasks_of_the_encoder_leave_nothing_out(task: str) -> None:
    values = {"kind": "encoder", "task": task, "width": 16, "feedforward_width": 32, "heads": 2, "layers": 2}
    size = 30 if task in ("fill", "embed") else 9
    made = map_of(task, model_settings(values), (30, size), length=7)
    assert all(box.placed.role != "other" for box in made.boxes)


def test_every_family_has_a_preset_here() -> None:
    assert {family.model_fields["kind"].default for family in FAMILIES} == {
        model_settings(PRESETS[name]).kind for name in SHOWN
    }


def test_a_weight_in_no_box_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from openwork.cost.model_map import maps

    monkeypatch.setattr(maps, "boxes_of", lambda model: boxes_of(model)[:2] + boxes_of(model)[3:])
    with pytest.raises(LookupError, match="do not hold all"):
        preset_map("nano")


def test_drawing_leaves_no_trace() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    preset_map("nano")
    assert torch.equal(torch.rand(4), expected)


def test_a_bundle_is_drawn_without_its_weights(tiny_bundle: "Bundle", tmp_path: Path) -> None:
    from openwork.bundles.bundle import write_bundle

    folder = tmp_path / "mine"
    write_bundle(folder, tiny_bundle)
    made = bundle_map(folder)
    assert made.name == "mine" and made.weights == count_weights(tiny_bundle.model)
    assert made.operations == sum(box.operations for box in made.boxes) > 0


def test_the_page_holds_the_model_first_and_the_family(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "map.html"
    done = call("info", "gpt-small", "--html", str(file))
    assert done.code == 0 and done.out == b""
    text = file.read_text(encoding="utf-8")
    assert text == map_page(drawn("gpt-small"), "en")
    content = json.loads(text.partition('id="content">')[2].partition("</script>")[0])["map"]
    assert [one["name"] for one in content["maps"]] == ["gpt-small", *(name for name in FAMILY if name != "gpt-small")]
    assert "://" not in json.dumps(content)


def test_the_page_is_that_of_one_model(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "map.html"
    for names in ([], ["nano", "tiny", "--compare", "--budget", "7M"], ["nano", "--compare", "--budget", "7M"]):
        done = call("info", *names, "--html", str(file))
        assert done.code == 2 and not file.exists()
    done = call("info", "nanoo", "--html", str(file))
    assert done.code == 2 and "U056" in done.err and not file.exists()
