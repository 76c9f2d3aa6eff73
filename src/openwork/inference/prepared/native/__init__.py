"""A step of the decoder as one function in C++, compiled for this processor where there is a compiler.

Without one, or without the instructions it needs, everything works as before: `problem` says what is missing.
"""

from openwork.inference.prepared.native.requirements import can_be_native, problem
from openwork.inference.prepared.native.transformer import NativeTransformer

__all__ = ["NativeTransformer", "can_be_native", "problem"]
