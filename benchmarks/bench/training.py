"""Training speed: real target tokens a second, the same pairs, pieces and, where a peer takes them, batches for all.

What counts as a token is the same for all: a target piece or the end symbol of a sentence, never padding. openwork
counts so itself; Hugging Face's labels that are not ignored, JoeyNMT's `ntokens` and Marian's label counts are that as
well.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.measurement import OURS, Measurement, rate
from bench.options import Options
from bench.processes import Answer
from bench.workload import RUN_FILE, TrainingWork, write_round

GIVEN, OWN = "given batches", "own batches"
# (peer, script, how its batches are made, precisions on a CPU, precisions on a GPU)
PEERS = (
    (OURS, "train_openwork.py", GIVEN, ("bfloat16", "float32"), ("bfloat16", "float32")),
    ("huggingface", "train_huggingface.py", GIVEN, ("bfloat16", "float32"), ("bfloat16", "float32")),
    ("marian", "train_marian.py", OWN, ("float32",), ("float16", "float32")),
    ("joeynmt", "train_joeynmt.py", OWN, ("float32",), ("float16", "float32")),
    ("joeynmt", "train_joeynmt.py", GIVEN, ("float32",), ("float16", "float32")),
)


def measurements(options: Options, work: Callable[[], TrainingWork]) -> list[Measurement]:
    """Every peer in every number type that it can train in."""
    made = []
    for peer, script, batches, on_cpu, on_gpu in PEERS:
        for precision in on_cpu if options.device == "cpu" else on_gpu:
            request = partial(_request, options, work, batches, precision)
            result = partial(_result, options.warm_up, work)
            made.append(Measurement(key(peer, precision, batches), peer, script, options.threads, request, result))
    return made


def key(peer: str, precision: str, batches: str = GIVEN) -> str:
    """The name of one of them."""
    return f"training/{peer}/{precision}/{batches}"


def assignments(options: Options) -> list[str]:
    """What is changed of the run file of shape S."""
    return [f'data.corpus="{options.corpus}"'] if options.corpus != Options.corpus else []


def _request(
    options: Options, work: Callable[[], TrainingWork], batches: str, precision: str, number: int
) -> dict[str, Any]:
    """Each round has other batches: its number is the seed of the plan."""
    updates = options.warm_up + options.updates
    files = write_round(work(), number, updates)
    return {
        "device": options.device,
        "threads": options.threads,
        "precision": precision,
        "seed": number,
        "updates": updates,
        "tokens": work().settings.batches.tokens,
        "shape": work().shape,
        "batches": str(files / "batches.npz") if batches == GIVEN else "",
        "source": str(files / "pairs.source"),
        "target": str(files / "pairs.target"),
        "pieces": str(files / "all"),
        "words": {"marian": str(files / "vocabulary.yml"), "joeynmt": str(files / "vocabulary.txt")},
        "run_file": str(RUN_FILE),
        "assignments": assignments(options),
    }


def _result(warm_up: int, work: Callable[[], TrainingWork], answer: Answer) -> dict[str, Any]:
    updates = answer.of("update")
    return {
        "tokens_per_second": round(rate(updates, warm_up), 1),
        "updates": len(updates[warm_up:]),
        "flops_per_token": work().flops_per_token,
    }
