"""The mathematics: the parts of the paper, each a small module or function with its equation beside it."""

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.decoder import Decoder, DecoderLayer
from openwork.nn.encoder import Encoder, EncoderLayer
from openwork.nn.feedforward import FeedForward

__all__ = ["Decoder", "DecoderLayer", "Encoder", "EncoderLayer", "FeedForward", "MultiHeadAttention"]
