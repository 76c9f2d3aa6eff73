"""Translating with Hugging Face's `generate`: batches sorted by length, in float32 or with bf16 or fp16 weights."""

import time
from itertools import islice

import speaking
import torch
import transformers
from transformers import AutoModelForSeq2SeqLM

PAD, END = 0, 3
LONGEST = 256


def main() -> None:
    request = speaking.hear()
    device, size = request["device"], request["batch_sizes"][0]
    if device == "cpu":
        torch.set_num_threads(request["threads"])
    dtype = getattr(torch, request["precision"])
    model = AutoModelForSeq2SeqLM.from_pretrained(request["model"], dtype=dtype).to(device).eval()
    speaking.tell("facts", transformers=transformers.__version__, torch=torch.__version__)
    # What would slow it down and decides nothing here: scores made to sum to one again, pieces that never win.
    model.generation_config.renormalize_logits = False
    model.generation_config.suppress_tokens = None
    sources = [[int(piece) for piece in pieces] for pieces in speaking.read_pieces(request["sources"])]

    def generate(batch: list[list[int]]) -> list[list[int]]:
        longest = max(map(len, batch)) + 1
        ids = torch.tensor([[*source, END, *[PAD] * (longest - len(source) - 1)] for source in batch], device=device)
        out = model.generate(
            input_ids=ids, attention_mask=(ids != PAD).long(), num_beams=request["beam"], do_sample=False,
            length_penalty=1.0, max_length=LONGEST, early_stopping=request["beam"] > 1,
        )  # fmt: skip
        return [[piece for piece in row if piece > END] for row in out.tolist()]

    def translate() -> list[list[int]]:
        order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
        found: list[list[int]] = [[]] * len(sources)
        for first in range(0, len(order), size):
            places = order[first : first + size]
            for place, pieces in zip(places, generate([sources[place] for place in places]), strict=True):
                found[place] = pieces
        return found

    with torch.inference_mode():
        generate(sources[:size])
        for _ in range(request["passes"]):
            begin = time.perf_counter()
            found = translate()
            speaking.tell_pass(len(sources), time.perf_counter() - begin, f"batches of {size}")
            speaking.write_pieces(request["out"], [[str(piece) for piece in pieces] for pieces in found])
        for source in islice(sources, request["singles"]):
            begin = time.perf_counter()
            generate([source])
            speaking.tell("single", seconds=time.perf_counter() - begin)
    speaking.tell_end()


main()
