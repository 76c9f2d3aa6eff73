"""Where models are computed."""

import torch


def choose_device() -> torch.device:
    """The GPU if torch can use one, else the CPU.

    On a GPU, attention is not left to cuDNN, which torch prefers on Hopper: it makes a plan for each new shape, and a
    training of sentences has a new shape in nearly every batch (58,000 tokens a second instead of 271,000 on an H100).
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device("cuda")


def choose_products(precision: str, device: torch.device) -> None:
    """How a GPU multiplies the float32 matrices of a training in `precision`.

    Whoever trains in float32 wants its digits, 24 of them; torch has them by default, and so it stays. Beside bfloat16,
    which keeps 8, the few float32 products that are left may take the GPU's short cut, TF32, which keeps 11 and is
    several times faster. Sums are in float32 either way: bfloat16 products are not to be added up in bfloat16, which
    cuBLAS would otherwise do where it divides a long sum.
    """
    if device.type != "cuda":
        return
    torch.backends.cuda.matmul.fp32_precision = "ieee" if precision == "float32" else "tf32"
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
