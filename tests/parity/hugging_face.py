"""Small models of Hugging Face's transformers, random and with every number unlike what it begins as."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    PegasusConfig,
    PegasusForConditionalGeneration,
)

CLASSES: dict[str, tuple[Any, Any]] = {
    "marian": (MarianConfig, MarianMTModel),
    "pegasus": (PegasusConfig, PegasusForConditionalGeneration),
    "bart": (BartConfig, BartForConditionalGeneration),
    "mbart": (MBartConfig, MBartForConditionalGeneration),
}
PIECES = 23
SIZES: dict[str, Any] = {
    "vocab_size": PIECES, "d_model": 16, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 40,
    "pad_token_id": 22, "eos_token_id": 5, "decoder_start_token_id": 22, "bos_token_id": None,
    "forced_eos_token_id": None, "unk_token_id": 7,
}  # fmt: skip


def make(kind: str, seed: int = 1, **changes: Any) -> Any:
    """A model in evaluation mode; its norms, biases and logits' bias are random as well."""
    config_class, model_class = CLASSES[kind]
    torch.manual_seed(seed)
    model = model_class(config_class(**SIZES | changes)).eval()
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in model.named_parameters():
        if "embed_positions" in name and kind in ("marian", "pegasus"):
            continue  # their sinusoids
        noise = torch.randn(tensor.shape, generator=generator) * 0.3
        tensor.data = noise + (1.0 if "norm" in name and name.endswith("weight") else 0.0)
    model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
    model.tie_weights()
    return model


def saved(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    return folder


def sources(pieces: int, end: int, pad: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids (batch, position) of sentences of 9, 4, 1 and 7 tokens with their end symbol, padded; and their lengths."""
    lengths = torch.tensor([9, 4, 1, 7])
    ids = torch.randint(0, pieces, (4, 9), generator=generator)
    ids[torch.arange(4), lengths - 1] = end
    return ids.masked_fill(torch.arange(9) >= lengths[:, None], pad), lengths
