"""The run of a student: what it learns from its teacher, and the settings that follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from openwork.base.errors import UsageError
from openwork.base.lines import Report
from openwork.base.outputs import PAIRS, check_new_folder, is_run
from openwork.bundles.bundle import load_bundle
from openwork.inference.settings import TranslationPrecision
from openwork.runs.folder import RunFolder
from openwork.runs.synthetic.corpus import corpus_of
from openwork.runs.synthetic.distillation import distillation_plan
from openwork.runs.synthetic.student import languages_of_bundle, student_of, vocabulary_of
from openwork.runs.synthetic.translated import Bar, write_pairs
from openwork.runs.usable import usable_bundle

Level = Literal["sequence", "word", "both"]
"""What is learnt: the teacher's translations, its probabilities for each piece, or both."""

Data = Mapping[str, Path | str]
"""Keys of the section [data]: source, target or corpus; valid_source, valid_target."""


@dataclass(frozen=True)
class Teaching:
    """`bundles`: the teacher; several are an ensemble. `nearest`: of so many translations that nearest to the given
    target is learnt. `from_bundle`: where the student begins; None: a quarter of the teacher's operations."""

    bundles: tuple[Path, ...]
    level: Level = "both"
    nearest: int = 1
    precision: TranslationPrecision = "float32"
    from_bundle: Path | None = None

    def sections(self, data: Data, out: Path, report: Report, bar: Bar) -> dict[str, dict[str, Any]]:
        """The student's run file; first the teacher's translations are written into the run's folder `out`, or as many
        as an earlier call has not finished.

        UsageError without sentences or without the targets that are needed, and for a folder with something else.
        """
        if self.level not in get_args(Level):
            raise UsageError(f"unknown level {self.level!r}", hint="use sequence, word or both", code="U182")
        name, source, target = data.get("corpus"), _file(data, "source"), _file(data, "target")
        if (self.nearest > 1 or self.level == "word") and name is None and target is None:
            raise UsageError(
                "--nearest and --level word need the targets of the corpus",
                hint="name them with --target",
                code="U168",
            )
        corpus = corpus_of(None if name is None else str(name), source, target)
        check_new_folder(out, [*self.bundles, *corpus.reads], is_own=_is_students)
        paths = [usable_bundle(bundle) for bundle in self.bundles]
        bundle = load_bundle(paths[0])
        made: dict[str, Any] = {**languages_of_bundle(bundle), **_validation(data)}
        if self.level == "word":
            made |= {key: str(data[key]) for key in ("source", "target", "corpus") if key in data}
        else:
            pairs = RunFolder(out).teacher
            plan = distillation_plan(paths, self.nearest, self.precision)
            for line in write_pairs(plan, corpus, pairs, report, bar).lines():
                report(line)
            made |= {"source": str(pairs / "source.txt"), "target": str(pairs / "target.txt")}
        sections: dict[str, Any] = {"data": made}
        if self.from_bundle is not None:
            sections["fine_tuning"] = {"from_bundle": str(self.from_bundle)}
        else:
            sections["text"] = vocabulary_of(paths[0], bundle)
            sections["model"] = student_of(bundle.settings.model, bundle.tokenizers.sizes)
        if self.level != "sequence":
            sections["distillation"] = {"teachers": [str(path) for path in paths]}
        return sections


def _file(data: Data, key: str) -> Path | None:
    return Path(data[key]) if key in data else None


def _is_students(out: Path) -> bool:
    """Whether the folder has the run of a student, or what one is about to learn from."""
    return is_run(out) or PAIRS.is_at(out / "teacher")


def _validation(data: Data) -> dict[str, str]:
    given = {key: str(value) for key, value in data.items() if key.startswith("valid_")}
    return given or ({"valid_corpus": str(data["corpus"])} if "corpus" in data else {})
