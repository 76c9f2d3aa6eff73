"""Training with Hugging Face Transformers: MarianMTModel in the plain loop that its users write."""

import time
from typing import Any

import numpy as np
import speaking
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel

PAD, START, END, IGNORED = 0, 2, 3, -100


def make_model(shape: dict[str, Any]) -> MarianMTModel:
    """Shape S in their names: the same layers and sizes, one tied vocabulary."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=shape["vocabulary"],
            d_model=shape["width"],
            encoder_layers=shape["layers"],
            decoder_layers=shape["layers"],
            encoder_attention_heads=shape["heads"],
            decoder_attention_heads=shape["heads"],
            encoder_ffn_dim=shape["feedforward"],
            decoder_ffn_dim=shape["feedforward"],
            activation_function="relu",
            dropout=shape["dropout"],
            attention_dropout=0.0,
            activation_dropout=0.0,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            pad_token_id=PAD,
            bos_token_id=START,
            decoder_start_token_id=START,
            eos_token_id=END,
            forced_eos_token_id=None,
        )
    )


def tensors(source: np.ndarray, target: np.ndarray, device: str) -> dict[str, Tensor]:
    """The model's arguments and the labels of one batch."""
    inputs = np.concatenate([np.full((len(target), 1), START, target.dtype), target[:, :-1]], axis=1)
    labels = np.where(target == PAD, IGNORED, target)
    arrays = {
        "input_ids": source,
        "attention_mask": source != PAD,
        "decoder_input_ids": np.where(inputs == END, PAD, inputs),
        "labels": labels,
    }
    return {name: torch.from_numpy(array.astype(np.int64)).to(device) for name, array in arrays.items()}


def main() -> None:
    request = speaking.hear()
    device, precision, shape = request["device"], request["precision"], request["shape"]
    torch.manual_seed(1)
    if device == "cpu":
        torch.set_num_threads(request["threads"])
    model = make_model(shape).to(device).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    weights = sum(weight.numel() for weight in model.parameters())
    speaking.tell("facts", transformers=transformers.__version__, torch=torch.__version__, weights=weights)
    loss = torch.zeros(())
    with np.load(request["batches"]) as batches:
        for update in range(request["updates"]):
            begin = time.perf_counter()
            batch = tensors(batches[f"source_{update}"], batches[f"target_{update}"], device)
            labels = batch.pop("labels")
            with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
                logits = model(**batch, use_cache=False).logits
                loss = functional.cross_entropy(
                    logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, label_smoothing=0.1
                )
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            tokens = int((labels != IGNORED).sum())
            if device != "cpu":
                torch.cuda.synchronize()
            speaking.tell_update(tokens, time.perf_counter() - begin)
    speaking.tell("facts", loss=loss.item())
    speaking.tell_end()


main()
