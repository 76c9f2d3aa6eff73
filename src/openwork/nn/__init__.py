"""The mathematics: the parts of the paper, each a small module or function with its equation beside it."""

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.feedforward import FeedForward
from openwork.nn.layers import Decoder, DecoderLayer, Encoder, EncoderLayer

__all__ = ["Decoder", "DecoderLayer", "Encoder", "EncoderLayer", "FeedForward", "MultiHeadAttention"]
