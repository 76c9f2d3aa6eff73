"""What a call of `make bench` can choose."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openwork.base.files import sha256_file
from openwork.bundles import folder as bundle_folder

ROOT = Path(__file__).parent.parent.parent
WHAT_IS_COMPARED = ("device", "threads", "rounds", "updates", "warm_up", "passes", "singles", "sentences", "corpus")


@dataclass(frozen=True)
class Options:
    """All of them. `sentences`: how many are translated, one work each. `updates` are measured after `warm_up`."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    device: str = "cpu"
    threads: int = 1
    rounds: int = 3
    updates: int = 10
    warm_up: int = 2
    passes: int = 2
    singles: int = 200
    sentences: tuple[int, ...] = (1000,)
    corpus: str = "multi30k-en-de"
    bundle: Path | None = None
    model_updates: int = 1500
    out: Path = ROOT / "benchmarks" / "results" / "bench.json"
    folder: Path = ROOT / ".bench"
    seconds: float = 0.0
    retry: bool = False
    quality: Path | None = None
    bleu: float = 38.0
    seed: int = 1

    def compared(self) -> dict[str, Any]:
        """Those on which the figures depend: results are only ever joined with others of the same."""
        values = {key: value for key, value in asdict(self).items() if key in WHAT_IS_COMPARED}
        values["sentences"] = list(self.sentences)
        values["bundle"] = self._fingerprint()
        return values

    def _fingerprint(self) -> str:
        """Of the named bundle's weights: its place on this machine is nobody's business."""
        if self.bundle is None:
            return f"shape S, {self.model_updates} updates"
        return sha256_file(bundle_folder.find_bundle(self.bundle) / bundle_folder.WEIGHTS)[:12]

    def chooses(self, key: str) -> bool:
        """Whether a measurement is wanted; each word of `only` and `skip` is one part of a key, or several."""
        parts = f"/{key}/"
        named = not self.only or any(f"/{word}/" in parts for word in self.only)
        return named and not any(f"/{word}/" in parts for word in self.skip)


def read_options(arguments: Sequence[str]) -> Options:
    """From the command line."""
    parser = argparse.ArgumentParser(
        prog="make bench ARGS=...",
        description="openwork and its peers, in turn, on the same work. What is measured is kept in --out as it is "
        "made: the same command goes on where it was stopped.",
    )
    add = parser.add_argument
    add("--only", nargs="+", default=[], help="parts of names, such as: training, huggingface, translating/ctranslate2")
    add("--skip", nargs="+", default=[], help="the same, to leave out")
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--threads", type=int, default=_cores(), help="for all that can use several; default: all cores")
    add("--rounds", type=int, default=3, help="how often each measurement is made, in turn with the others")
    add("--quick", action="store_true", help="one small round: about three minutes once all is prepared")
    add("--long", action="store_true", help="translate 10,000 sentences as well")
    add("--corpus", default="multi30k-en-de", help="a corpus that openwork knows by name")
    add("--bundle", type=Path, help="the trained bundle that all translate with; default: one is trained once")
    add("--out", type=Path, default=Options.out)
    add("--folder", type=Path, default=Options.folder, help="where peers and prepared data are kept")
    add("--seconds", type=float, default=0.0, help="begin nothing more after so many; exit code 3 if any are left")
    add("--retry", action="store_true", help="measure again what failed before")
    add("--time-to-quality", type=Path, metavar="RECIPE", help="only this: train the run file from a fresh start")
    add("--bleu", type=float, default=38.0, help="of --time-to-quality: the lc-BLEU on the validation pairs to reach")
    add("--seed", type=int, default=1, help="of --time-to-quality")
    return _options(parser.parse_args(arguments))


def _options(chosen: argparse.Namespace) -> Options:
    small = {"rounds": 1, "updates": 3, "warm_up": 1, "passes": 1, "singles": 30, "model_updates": 100}
    values: dict[str, Any] = small if chosen.quick else {"rounds": chosen.rounds}
    return Options(
        **values,
        only=tuple(chosen.only), skip=tuple(chosen.skip), device=chosen.device, threads=chosen.threads,
        sentences=(200,) if chosen.quick else (1000, 10_000) if chosen.long else (1000,), corpus=chosen.corpus,
        bundle=chosen.bundle, out=chosen.out, folder=chosen.folder, seconds=chosen.seconds, retry=chosen.retry,
        quality=chosen.time_to_quality, bleu=chosen.bleu, seed=chosen.seed,
    )  # fmt: skip


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
