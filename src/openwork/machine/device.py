"""The device of computations, and the instructions of its processor."""

import os

import torch


def choose_device() -> torch.device:
    """The GPU if torch can use one, else the CPU.

    On a GPU this turns off attention by cuDNN, which torch prefers on Hopper. It makes a plan for each new shape, and
    nearly every batch of sentences has one (58,000 tokens a second instead of 271,000 on an H100).
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    torch.backends.cuda.enable_cudnn_sdp(False)
    if "LOCAL_RANK" in os.environ:  # one of several processes on this machine, each with a GPU of its own
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda")


def on_device(numbers: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The same on a device; on a CPU the very same memory.

    From pinned memory a GPU fetches them while both sides go on, and uses them in the order of its work; torch keeps
    the memory until the copy is made.
    """
    if device.type == "cuda" and numbers.device.type == "cpu":
        return numbers.pin_memory().to(device, non_blocking=True)
    return numbers.to(device)


def choose_products(precision: str, device: torch.device) -> None:
    """Sets how a GPU multiplies the float32 matrices of a training in `precision`.

    A training in float32 gets all 24 digits, torch's default. In bfloat16, which keeps 8 digits, the remaining float32
    products use TF32, which keeps 11 and is several times faster. Sums are always in float32: cuBLAS would otherwise
    add parts of long sums in bfloat16.
    """
    if device.type == "cuda":
        torch.backends.cuda.matmul.fp32_precision = "ieee" if precision == "float32" else "tf32"
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def has_avx512() -> bool:
    """Whether torch uses vectors of 512 bits on this processor."""
    return torch.backends.cpu.get_cpu_capability() == "AVX512"


def has_narrow_kernels() -> bool:
    """Whether oneDNN has packed products and LSTMs in bfloat16 here, which need AVX-512 (torch 2.13).

    Without AVX-512 they raise errors; torch's other kernels take bfloat16 on any processor, but float32 is faster.
    """
    return has_avx512()
