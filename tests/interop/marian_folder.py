"""Folders of Marian's with random weights, and its Transformer once more in numpy, written down from its formulas."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

Weights = dict[str, np.ndarray]
WORDS = ["</s>", "<unk>", *"abcdefghijk", "no", "12", "~"]
SETTINGS: dict[str, Any] = {
    "type": "transformer", "version": "v1.12.42 b7be0e964", "enc-depth": 2, "dec-depth": 1, "dim-emb": 8,
    "transformer-heads": 2, "transformer-dim-ffn": 12, "transformer-ffn-activation": "swish",
    "transformer-preprocess": '""', "transformer-postprocess": "dan", "transformer-postprocess-top": '""',
    "transformer-postprocess-emb": "d", "tied-embeddings": "false", "tied-embeddings-all": "false",
    "tied-embeddings-src": "false", "transformer-train-position-embeddings": "false", "output-omit-bias": "false",
    "transformer-tied-layers": "[]",
}  # fmt: skip
PRE_NORM = {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n"}


def yaml_of(settings: dict[str, Any], size: int) -> str:
    lines = [f"{key}: {value}" for key, value in settings.items()]
    return "\n".join([*lines, "dim-vocabs:", f"  - {size}", f"  - {size}"]) + "\n"


def random_weights(settings: dict[str, Any], size: int = len(WORDS)) -> Weights:
    random = np.random.default_rng(7)
    width, inner = settings["dim-emb"], settings["transformer-dim-ffn"]
    found: Weights = {}

    def add(name: str, *shape: int) -> None:
        found[name] = random.normal(0, 0.5, shape).astype(np.float32)

    def norm(name: str) -> None:
        add(f"{name}_ln_scale{ending}", 1, width)
        add(f"{name}_ln_bias{ending}", 1, width)

    ending = "_pre" if settings["transformer-preprocess"] == "n" else ""
    for stack, depth, attentions in (
        ("encoder", "enc-depth", ("self",)),
        ("decoder", "dec-depth", ("self", "context")),
    ):
        for layer in range(1, settings[depth] + 1):
            for attention in attentions:
                for letter in "qkvo":
                    add(f"{stack}_l{layer}_{attention}_W{letter}", width, width)
                    add(f"{stack}_l{layer}_{attention}_b{letter}", 1, width)
                norm(f"{stack}_l{layer}_{attention}_Wo")
            add(f"{stack}_l{layer}_ffn_W1", width, inner)
            add(f"{stack}_l{layer}_ffn_b1", 1, inner)
            add(f"{stack}_l{layer}_ffn_W2", inner, width)
            add(f"{stack}_l{layer}_ffn_b2", 1, width)
            norm(f"{stack}_l{layer}_ffn_ffn")
    ending = ""
    for stack in ("encoder", "decoder"):
        if settings["transformer-postprocess-top"] == "n":
            norm(f"{stack}_top")
        if "n" in settings["transformer-postprocess-emb"]:
            norm(f"{stack}_emb")
    shared = settings["tied-embeddings-all"] == "true"
    for name in ("Wemb",) if shared or settings["tied-embeddings-src"] == "true" else ("encoder_Wemb", "decoder_Wemb"):
        add(name, size, width)
    if not shared and settings["tied-embeddings"] == "false":
        add("decoder_ff_logit_out_Wt", size, width)
    if settings["output-omit-bias"] == "false":
        add("decoder_ff_logit_out_b", 1, size)
    return found


def write_folder(folder: Path, weights: Weights, settings: dict[str, Any], words: list[str] | None = None) -> Path:
    """model.npz and vocab.yml, as Marian writes them: words without quotation marks."""
    folder.mkdir(exist_ok=True)
    words = WORDS if words is None else words
    text = yaml_of(settings, len(words)).encode() + b"\0"
    np.savez(folder / "model.npz", **weights, **{"special:model.yml": np.frombuffer(text, np.int8)})  # type: ignore[arg-type]
    written = (word if word.isalnum() else json.dumps(word, ensure_ascii=False) for word in words)
    lines = (f"{word}: {number}\n" for number, word in enumerate(written))
    (folder / "vocab.yml").write_text("".join(lines))
    return folder


def logits(w: Weights, settings: dict[str, Any], source: list[int], target: list[int]) -> np.ndarray:
    """Of each place of the target (Marian's ids, no symbol at its start) the logits of all words."""
    width, heads = settings["dim-emb"], settings["transformer-heads"]
    pre = settings["transformer-preprocess"] == "n"

    def norm(x: np.ndarray, name: str, ending: str = "") -> np.ndarray:
        spread = np.sqrt(x.var(-1, keepdims=True) + 1e-6)
        return (x - x.mean(-1, keepdims=True)) / spread * w[f"{name}_ln_scale{ending}"] + w[f"{name}_ln_bias{ending}"]

    def places(count: int) -> np.ndarray:
        steps = np.exp(-np.arange(width // 2) * math.log(10000) / (width / 2 - 1))
        angles = np.arange(count)[:, None] * steps
        return np.concatenate([np.sin(angles), np.cos(angles)], 1)

    def embedded(stack: str, x: np.ndarray) -> np.ndarray:
        x = x * math.sqrt(width) + places(len(x))
        return norm(x, f"{stack}_emb") if "n" in settings["transformer-postprocess-emb"] else x

    def attention(name: str, x: np.ndarray, memory: np.ndarray, causal: bool) -> np.ndarray:
        q, k, v = (a @ w[f"{name}_W{c}"] + w[f"{name}_b{c}"] for c, a in (("q", x), ("k", memory), ("v", memory)))
        found = []
        for one in range(heads):
            part = slice(one * width // heads, (one + 1) * width // heads)
            scores = q[:, part] @ k[:, part].T / math.sqrt(width // heads)
            if causal:
                scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            found.append(weights / weights.sum(-1, keepdims=True) @ v[:, part])
        return np.concatenate(found, 1) @ w[f"{name}_Wo"] + w[f"{name}_bo"]

    def sublayer(x: np.ndarray, name: str, work: Any) -> np.ndarray:
        return x + work(norm(x, name, "_pre")) if pre else norm(x + work(x), name)

    def feedforward(name: str, x: np.ndarray) -> np.ndarray:
        inner = x @ w[f"{name}_W1"] + w[f"{name}_b1"]
        relu = settings["transformer-ffn-activation"] == "relu"
        inner = np.maximum(inner, 0) if relu else inner / (1 + np.exp(-inner))
        return inner @ w[f"{name}_W2"] + w[f"{name}_b2"]

    def stack(name: str, x: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
        x = embedded(name, x)
        for layer in range(1, settings["enc-depth" if memory is None else "dec-depth"] + 1):
            own = f"{name}_l{layer}"
            x = sublayer(x, f"{own}_self_Wo", lambda y, own=own: attention(f"{own}_self", y, y, memory is not None))
            if memory is not None:
                x = sublayer(x, f"{own}_context_Wo", lambda y, own=own: attention(f"{own}_context", y, memory, False))
            x = sublayer(x, f"{own}_ffn_ffn", lambda y, own=own: feedforward(f"{own}_ffn", y))
        return norm(x, f"{name}_top") if pre else x

    def table(*names: str) -> np.ndarray:
        return next(w[name] for name in names if name in w).astype(float)

    memory = stack("encoder", table("encoder_Wemb", "Wemb")[source], None)
    own = table("decoder_Wemb", "Wemb")
    x = stack("decoder", np.concatenate([np.zeros((1, width)), own[target]]), memory)
    return x @ table("decoder_ff_logit_out_Wt", "decoder_Wemb", "Wemb").T + w.get("decoder_ff_logit_out_b", 0.0)
