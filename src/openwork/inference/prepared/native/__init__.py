"""A step of the decoder as one C++ function, compiled for this processor.

Without a compiler or the processor's instructions the prepared model is used: `problem` says what is missing.
"""

from openwork.inference.prepared.native.sources import problem
from openwork.inference.prepared.native.transformer import NativeTransformer, can_be_native

__all__ = ["NativeTransformer", "can_be_native", "problem"]
