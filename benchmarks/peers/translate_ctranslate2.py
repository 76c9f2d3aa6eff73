"""Translating with CTranslate2: one compute type, workers and threads; one or several batch sizes."""

import time
from itertools import islice

import ctranslate2
import speaking

LONGEST = 256


def main() -> None:
    request = speaking.hear()
    if request["precision"] not in ctranslate2.get_supported_compute_types(request["device"]):
        speaking.tell("refused", reason=f"CTranslate2 has no {request['precision']} on this machine")
        return
    translator = ctranslate2.Translator(
        request["model"], device=request["device"], compute_type=request["precision"],
        inter_threads=request["workers"], intra_threads=request["threads"],
    )  # fmt: skip
    speaking.tell("facts", ctranslate2=ctranslate2.__version__, compute_type=translator.compute_type)
    sources = speaking.read_pieces(request["sources"])

    def translate(batch: list[list[str]], size: int) -> list[list[str]]:
        results = translator.translate_batch(
            batch, max_batch_size=size, beam_size=request["beam"], length_penalty=1.0, max_decoding_length=LONGEST,
        )  # fmt: skip
        return [result.hypotheses[0] for result in results]

    for size in request["batch_sizes"]:
        translate(sources[: 4 * size], size)
        found: list[list[str]] = []
        for _ in range(request["passes"]):
            begin = time.perf_counter()
            found = translate(sources, size)
            speaking.tell_pass(len(sources), time.perf_counter() - begin, f"batches of {size}")
        speaking.write_pieces(request["out"], found)
    for source in islice(sources, request["singles"]):
        begin = time.perf_counter()
        translate([source], 1)
        speaking.tell("single", seconds=time.perf_counter() - begin)
    speaking.tell_end()


main()
