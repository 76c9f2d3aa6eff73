"""The source documents' own interface, as a thin layer over the parts of `nn`: their names, signatures and defaults.

Two of the documents hold code. 001 (转换器(Transformer)详解) has the whole encoder-decoder in 14 names, all of them
here. 003 (注意力机制:Transformer模型与自然语言处理) has an encoder in three names, batch second; they are in
`openwork.study.annotated.sequence_first`, because its `PositionalEncoding` and 001's are two things of one name. The
other two can be imported from here as well.

    from openwork.study.annotated import make_model

    model = make_model(input_vocab=10, output_vocab=10)
    log_probabilities = model(src, tgt, src_mask, tgt_mask)

Each class holds its parts and weights under the document's names and calls them, so that a hook, a subclass or a layer
of your own takes effect; weights that the document's code has saved are loaded, and saved ones have its names. The
formulas are those of `nn`, and tests hold both to give the same. Wherever a class does another thing than the code of
the document, its docstring says what and why. For all of 001:

- A mask has one number for each key (batch, key) or each pair (batch, query, key); the original works at batch 1 alone.
- `model.eval()` ends all dropout; the original goes on dropping attention weights.
- On a CPU, rates of dropout are rounded to multiples of 1/256 (`nn/dropout.py`).
- Parts that compute nothing are left out: 18 matrices of the base model, 4,727,808 of its 48,874,506 weights.
"""

from openwork.study.annotated.attention import Attention, MultiHeadAttention
from openwork.study.annotated.model import (
    Decoder,
    DecoderLayer,
    Embed,
    Encoder,
    EncoderDecoder,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    Output,
    PositionalEncoding,
    ResidualConnection,
    make_model,
)
from openwork.study.annotated.sequence_first import TransformerEncoder, TransformerEncoderLayer

__all__ = [
    "Attention",
    "Decoder",
    "DecoderLayer",
    "Embed",
    "Encoder",
    "EncoderDecoder",
    "EncoderLayer",
    "FeedForward",
    "LayerNorm",
    "MultiHeadAttention",
    "Output",
    "PositionalEncoding",
    "ResidualConnection",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "make_model",
]
