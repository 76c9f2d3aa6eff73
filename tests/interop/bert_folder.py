"""A small BERT in Hugging Face's form, made by hand: config.json, model.safetensors and vocab.txt."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "the", "cat", "sat", "##s", ",", "how", "are", "you", "?"]
ORDER = [4, 0, 9, 1, 5, 2, 6, 7, 8, 3, 10, 11, 12, 13, 14]  # so that no id is ours by accident
NAMES = [WORDS[number] for number in ORDER]
WIDTH, HEADS, LAYERS, INNER, LONGEST = 8, 2, 2, 12, 10
CONFIG: dict[str, Any] = {
    "model_type": "bert", "vocab_size": len(NAMES), "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "intermediate_size": INNER, "hidden_act": "gelu", "max_position_embeddings": LONGEST,
    "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": NAMES.index("[PAD]"),
}  # fmt: skip


def shapes(fills: bool) -> dict[str, tuple[int, ...]]:
    """Every weight of their model by its name; those of the encoder have a prefix where it has a head."""
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(NAMES), WIDTH),
        "embeddings.position_embeddings.weight": (LONGEST, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        **_norm("embeddings.LayerNorm"),
    }
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            found |= _dense(f"{layer}.attention.{part}", WIDTH, WIDTH)
        found |= _norm(f"{layer}.attention.output.LayerNorm")
        found |= _dense(f"{layer}.intermediate.dense", WIDTH, INNER)
        found |= _dense(f"{layer}.output.dense", INNER, WIDTH) | _norm(f"{layer}.output.LayerNorm")
    if not fills:
        return found | _dense("pooler.dense", WIDTH, WIDTH)
    head = "cls.predictions.transform"
    found = {f"bert.{name}": shape for name, shape in found.items()}
    found |= _dense(f"{head}.dense", WIDTH, WIDTH) | _norm(f"{head}.LayerNorm")
    return found | {"cls.predictions.bias": (len(NAMES),)}


def _dense(name: str, before: int, after: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (after, before), f"{name}.bias": (after,)}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}


def weights(fills: bool = False) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(4)
    return {name: torch.randn(shape, generator=generator) * 0.5 for name, shape in shapes(fills).items()}


def write_folder(folder: Path, found: dict[str, Tensor], names: list[str] = NAMES, **changes: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | changes), encoding="utf-8")
    (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    save_file(found, folder / "model.safetensors")
    return folder
