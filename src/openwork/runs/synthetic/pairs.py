"""A folder of pairs that a model has written: sentences, their translations, and how they were made.

`source.txt` and `target.txt` are aligned, one sentence a line, for `openwork train --source ... --target ...`. Until
they are there, the folder holds the sentences in shards and the translations so far, so that a stop loses little.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from openwork import __version__
from openwork.base.errors import ConfigError
from openwork.base.files import atomic_file, atomic_write_text, read_lines, sha256_file
from openwork.base.folders import atomic_folder
from openwork.base.lines import OnProgress, Report, ignore_progress
from openwork.base.messages import msg
from openwork.base.outputs import PAIRS, check_new_folder
from openwork.base.printing import json_text
from openwork.inference.bulk.plan import TranslationPlan
from openwork.inference.bulk.record import open_record
from openwork.inference.bulk.run import translate_shards
from openwork.inference.bulk.shards import find_shards
from openwork.inference.bulk.work import ShardTranslator
from openwork.machine.pool import OneProcess

SHARD = 1000  # sentences: at most so many are translated again after a stop
UNUSABLE = msg(
    "no translation is whole: they are empty, unfinished, of a part of the sentence, or hold control characters"
)
_CONTROL = re.compile(r"[\x00-\x08\n-\x1f\x7f-\x9f]")  # sampled bytes may be such, which no training reads
SENTENCES, TRANSLATIONS = "sentences", "translations"


@dataclass(frozen=True)
class NewPair:
    """A pair for training, or why there is none."""

    source: str = ""
    target: str = ""
    problem: str = ""


@dataclass(frozen=True)
class ModelOutput:
    """A sentence, what the corpus has as its other side ("" without one), and the model's translations, best first.

    Each translation has its keys as in `openwork translate --json`. Those that are usable are of the whole sentence.
    """

    sentence: str
    reference: str
    translations: tuple[Mapping[str, Any], ...]
    cut: bool = False

    @property
    def usable(self) -> list[str]:
        """The texts of those that are whole translations of the whole sentence."""
        return [
            one["text"]
            for one in ([] if self.cut else self.translations)
            if one["text"].strip() and one["finished"] and "problem" not in one and not _CONTROL.search(one["text"])
        ]


Choose = Callable[[ModelOutput], NewPair]


@dataclass(frozen=True)
class PairsReport:
    """How many pairs were written, and how many sentences gave none, by the reason."""

    pairs: int
    left_out: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield msg(f"pairs written: {self.pairs:,}")
        for reason, count in sorted(self.left_out.items(), key=lambda item: -item[1]):
            yield msg(f"left out {count:,}: {reason}")


class PairsFolder:
    """The folder of pairs; what is in it was made by one plan from one corpus."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source, self.target = path / "source.txt", path / "target.txt"
        self.mark = path / PAIRS.mark

    def prepare(self, identity: Mapping[str, Any], reads: Iterable[Path | None]) -> bool:
        """Makes the folder for pairs of this identity; whether they are all there already.

        ConfigError for pairs that were made otherwise, UsageError for a folder with other things in it.
        """
        known = self._known()
        if known is None:
            check_new_folder(self.path, reads)
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_mark(identity, {})
            return False
        before = known["identity"]
        if changes := [key for key in {**before, **identity} if before.get(key) != identity.get(key)]:
            raise ConfigError(
                f"{self.path}: the pairs in this folder were made otherwise: {', '.join(sorted(changes)[:5])}",
                why="a folder holds pairs of one kind",
                hint="give the same models, sentences and options to go on, or name a new folder",
                code="C163",
            )
        paths = self.source, self.target
        return all(path.is_file() for path in paths) and known["sha256"] == {
            path.name: sha256_file(path) for path in paths
        }

    def report(self) -> PairsReport:
        """That of the finished pairs."""
        known = self._known() or {}
        return PairsReport(known.get("pairs", 0), known.get("left_out", {}))

    def put_sentences(self, sentences: Iterable[str]) -> None:
        """Writes the sentences in shards, all or none."""
        folder = self.path / SENTENCES
        if folder.is_dir():
            return
        remaining = iter(sentences)
        with atomic_folder(folder) as partial:
            for number in range(10**6):
                if not (shard := list(islice(remaining, SHARD))):
                    break
                text = "".join(f"{' '.join(sentence.splitlines())}\n" for sentence in shard)
                (partial / f"{number:06}.txt").write_text(text, encoding="utf-8")

    def translate(
        self, plan: TranslationPlan, translator: ShardTranslator, report: Report, advanced: OnProgress = ignore_progress
    ) -> None:
        """Translates the shards that are not translated yet. DataError where one cannot be."""
        out = self.path / TRANSLATIONS
        shards = find_shards(self.path / SENTENCES, out).shards
        with open_record(out, plan.reads(self.path / SENTENCES)) as record:
            record.plan(plan.identity(None), shards)
            done = translate_shards(shards, record, lambda: translator, OneProcess(), report, advanced=advanced)
        done.check()

    def shards(self) -> int:
        """How many there are."""
        return sum(1 for _ in (self.path / SENTENCES).iterdir())

    def finish(self, references: Iterable[str], choose: Choose) -> PairsReport:
        """Writes the chosen pairs in the order of the sentences, and removes what was needed on the way.

        `references`: the other side of each sentence.
        """
        known = self._known()
        assert known is not None, "the folder was prepared"
        left_out: dict[str, int] = {}
        pairs = 0
        with (
            atomic_file(self.source) as source_file,
            atomic_file(self.target) as target_file,
            source_file.open("w", encoding="utf-8") as sources,
            target_file.open("w", encoding="utf-8") as targets,
        ):
            for found in self._chosen(references, choose):
                if found.problem:
                    left_out[found.problem] = left_out.get(found.problem, 0) + 1
                    continue
                sources.write(f"{found.source}\n")
                targets.write(f"{found.target}\n")
                pairs += 1
        sums = {path.name: sha256_file(path) for path in (self.source, self.target)}
        self._write_mark(known["identity"], sums, pairs=pairs, left_out=left_out)
        for name in (SENTENCES, TRANSLATIONS):
            shutil.rmtree(self.path / name)
        return PairsReport(pairs, left_out)

    def _chosen(self, references: Iterable[str], choose: Choose) -> Iterator[NewPair]:
        lines = zip(self._lines(SENTENCES), references, self._lines(TRANSLATIONS), strict=True)
        for sentence, reference, line in lines:
            answer = json.loads(line)
            yield choose(ModelOutput(sentence, reference, tuple(answer["translations"]), answer["cut"]))

    def _lines(self, name: str) -> Iterator[str]:
        for path in sorted(path for path in (self.path / name).iterdir() if path.suffix == ".txt"):
            yield from read_lines(path, max_line_characters=None)

    def _known(self) -> dict[str, Any] | None:
        return PAIRS.read_mark(self.path)

    def _write_mark(self, identity: Mapping[str, Any], sums: Mapping[str, str], **values: Any) -> None:
        content = {"format": PAIRS.format, "openwork": __version__, "identity": identity, "sha256": sums, **values}
        atomic_write_text(self.mark, json_text(content, indent=1) + "\n")
