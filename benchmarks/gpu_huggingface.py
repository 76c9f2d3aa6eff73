"""Hugging Face's Marian model of the same sizes, trained on the same batches on a GPU."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional

from openwork.machine.precision import PrecisionName, computing_in
from openwork.models.settings import TransformerSettings
from openwork.training.batches.batch import BatchStream, TensorBatch
from openwork.training.progress import Progress

SMOOTHING = 0.1
NOTE = "MarianMTModel: padded, autocast, fused AdamW"
# Whether attention is left to cuDNN, as the framework does by itself.
WAYS = {"Hugging Face": False, "Hugging Face, attention by cuDNN": True}


@contextmanager
def cudnn_attention(wanted: bool) -> Iterator[None]:
    """While the block runs, whether the framework may leave attention to cuDNN, which plans anew for each shape."""
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(wanted)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


def is_installed() -> bool:
    return importlib.util.find_spec("transformers") is not None


def marian(settings: TransformerSettings, vocabulary: int) -> torch.nn.Module:
    """A model with these sizes, its three embeddings one, attention by the framework's fused kernel."""
    from transformers import MarianConfig, MarianMTModel

    width, heads, inner = settings.width, settings.heads, settings.feedforward_width
    config = MarianConfig(
        vocab_size=vocabulary, d_model=width, encoder_layers=settings.encoder_layers,
        decoder_layers=settings.decoder_layers, encoder_attention_heads=heads, decoder_attention_heads=heads,
        encoder_ffn_dim=inner, decoder_ffn_dim=inner, dropout=settings.dropout, attention_dropout=0.0,
        activation_dropout=0.0, activation_function="relu", scale_embedding=True, max_position_embeddings=512,
        pad_token_id=0, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=None, use_cache=False,
    )  # fmt: skip
    return MarianMTModel._from_config(config, attn_implementation="sdpa").train()


class MarianUpdates:
    """Updates as a plain training loop makes them: no number is read back."""

    def __init__(
        self, settings: TransformerSettings, vocabulary: int, device: torch.device, precision: PrecisionName
    ) -> None:
        self.device, self.precision = device, precision
        self.model = marian(settings, vocabulary).to(device)
        self.optimiser = torch.optim.AdamW(self.model.parameters(), 1e-4, (0.9, 0.98), 1e-9, fused=True)

    def update(self, batch: TensorBatch) -> None:
        positions = torch.arange(batch.source.shape[1], device=self.device)
        real = (positions < batch.source_lengths[:, None]).long()
        with computing_in(self.precision, self.device):
            made = self.model(input_ids=batch.source, attention_mask=real, decoder_input_ids=batch.target_input)
            logits = made.logits.flatten(0, 1).index_select(0, batch.real)
            loss = functional.cross_entropy(logits, batch.real_targets, label_smoothing=SMOOTHING)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)


def timed(
    updates: MarianUpdates, stream: BatchStream, count: int, seconds_of: Callable[[Callable[[], object]], float]
) -> dict[str, Any]:
    """Target tokens a second over so many updates, after as many to warm up."""
    progress = Progress()
    batches = [stream.next(progress) for _ in range(count)]

    def all_updates() -> None:
        for batch in batches:
            assert isinstance(batch, TensorBatch)
            updates.update(batch)

    all_updates()
    seconds = seconds_of(all_updates)
    targets = sum(batch.target_tokens for batch in batches)
    return {"target_tokens_per_second": round(targets / seconds), "targets": targets, "seconds": seconds}
