"""What the framework's libraries can do on this processor."""

import torch


def has_avx512() -> bool:
    """Whether the framework computes with vectors of 512 bits here."""
    return torch.backends.cpu.get_cpu_capability() == "AVX512"


def has_narrow_kernels() -> bool:
    """Whether oneDNN has its packed products and its LSTM in bfloat16 here: with AVX-512 (torch 2.13).

    Without it they break off; the framework's other kernels take bfloat16 on any processor, and float32 is faster.
    """
    return has_avx512()
