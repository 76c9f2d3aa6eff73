"""The ceilings of the machine: the rate of large matrix products, and nothing else, through torch."""

import time

import speaking
import torch

WARM_UP_SECONDS = 0.5


def main() -> None:
    request = speaking.hear()
    device, size, dtype = request["device"], request["size"], getattr(torch, request["precision"])
    if device == "cpu":
        torch.set_num_threads(request["threads"])
    first, second = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    speaking.tell("facts", torch=torch.__version__)

    def multiply() -> float:
        begin = time.perf_counter()
        first @ second
        if device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    warm = time.perf_counter() + WARM_UP_SECONDS
    while time.perf_counter() < warm:
        multiply()
    for _ in range(request["products"]):
        speaking.tell("product", units=2 * size**3, seconds=multiply())
    speaking.tell_end()


main()
