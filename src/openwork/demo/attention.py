"""Where a bundle's decoder looks: cross-attention of one sentence, as a picture's data."""

from itertools import pairwise

import torch

from openwork.base.messages import msg
from openwork.bundles.bundle import Bundle
from openwork.inference.translator import BatchTranslator
from openwork.inspection.capture import cross_attention
from openwork.inspection.report import AttentionExample


def draw_attention(bundle: Bundle, text: str) -> AttentionExample:
    """The weights of the last decoder layer, the mean over its heads, for the bundle's own translation of `text`."""
    source_tokenizer, target_tokenizer = bundle.tokenizers.source, bundle.tokenizers.target
    source = [*source_tokenizer.encode(text), source_tokenizer.end_id]
    translator = BatchTranslator.of(bundle)
    translation = translator.best([text])[0]
    target = target_tokenizer.encode(translation)
    target_input = [target_tokenizer.start_id, *target]
    lengths = torch.tensor([len(source)])
    inputs = [torch.tensor([source]), lengths, torch.tensor([target_input])]
    layers = cross_attention(bundle.model, *(tensor.to(translator.device) for tensor in inputs))
    weights = layers[max(layers)][0].mean(dim=0)
    pieces = [target_tokenizer.piece(number) for number in [*target_input, target_tokenizer.end_id]]
    return AttentionExample(
        title=f"{text} → {translation}",
        weights=weights.float().cpu().numpy(),
        row_labels=tuple(pairwise(pieces)),
        column_labels=tuple(source_tokenizer.piece(number) for number in source),
        caption=msg(
            "Cross-attention of the last decoder layer, the mean over its heads. Each row sums to 1. "
            "Attention shows where the model looks; it is not by itself an explanation of what it says."
        ),
    )
