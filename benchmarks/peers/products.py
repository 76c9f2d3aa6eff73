"""The ceilings of the machine: the rate of large matrix products, and nothing else, through torch."""

import time

import speaking
import torch

WARM_UP_SECONDS = 0.5
SMALLEST, LONGEST = 256, 0.5  # a size that is quick everywhere, and the most seconds that one product may take


def main() -> None:
    request = speaking.hear()
    device, size, dtype = request["device"], request["size"], getattr(torch, request["precision"])
    if device == "cpu":
        torch.set_num_threads(request["threads"])
    speaking.tell("facts", torch=torch.__version__)

    def square(size: int) -> torch.Tensor:
        return torch.randn(size, size, device=device).to(dtype)

    def multiply(first: torch.Tensor, second: torch.Tensor) -> float:
        begin = time.perf_counter()
        first @ second
        if device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    # A processor without instructions for a number type would take a minute for a large product.
    quick = min(multiply(square(SMALLEST), square(SMALLEST)) for _ in range(3))
    while size > SMALLEST and quick * (size / SMALLEST) ** 3 > LONGEST:
        size //= 2
    first, second = square(size), square(size)
    warm = time.perf_counter() + WARM_UP_SECONDS
    while time.perf_counter() < warm:
        multiply(first, second)
    for _ in range(request["products"]):
        speaking.tell("product", units=2 * size**3, seconds=multiply(first, second))
    speaking.tell_end()


main()
