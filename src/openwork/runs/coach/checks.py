"""The coach's checks in one table, all of them carried out on a run file, and their report."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.checks.check import MARGIN, Check, CheckResult, Status, all_passed, place_line, run_checks, status_line
from openwork.runs.coach import learning, pieces
from openwork.runs.coach.trial import Observation, Trial, trial_of
from openwork.runs.file.settings import RunSettings

SCHEMA_VERSION = 1
INDENT = " " * 8


@dataclass(frozen=True)
class Lesson:
    """One line of the table: what a failed check means, what to try and what to read.

    `after`: names of checks that must not have failed, because this one would only report the same fault again.
    """

    name: str
    title: str
    meaning: str
    attempt: str
    read: str
    run: Callable[[Trial], Observation]
    after: tuple[str, ...] = ()

    def check(self, trial: Trial) -> Check:
        """In the form of `openwork verify`."""
        return Check(self.name, self.title, lambda _: self.run(trial), self.after)


# The checks below overfitting try the model that has learnt something.
LESSONS: tuple[Lesson, ...] = (
    Lesson(
        "round-trip",
        "text comes back from its pieces",
        "the tokenizer loses text, so no training can bring it back",
        "look at a line with: openwork tokenize; read the tokenizer's file again, or learn one (text.kind)",
        "docs/coach.md, tokenizer; Kudo and Richardson 2018",
        pieces.comes_back,
    ),
    Lesson(
        "unknown",
        "few pieces are unknown",
        "unknown pieces can be neither read nor written",
        'take text.kind = "byte-pair" or a larger text.vocabulary_size; a tokenizer from a file must fit the language',
        "docs/coach.md, tokenizer; Sennrich et al. 2016",
        pieces.few_unknown,
    ),
    Lesson(
        "pieces",
        "words are cut into few pieces",
        "many short pieces are hard to learn: the vocabulary is far too small or belongs to another language",
        "raise text.vocabulary_size, or learn the tokenizer from these texts",
        "docs/coach.md, tokenizer; Sennrich et al. 2016",
        pieces.pieces_a_word,
    ),
    Lesson(
        "sides",
        "source and target are different texts",
        "the model would learn to copy",
        "look at the files that data.source and data.target name; openwork data check",
        "docs/coach.md, data",
        pieces.sides_differ,
    ),
    Lesson(
        "frame",
        "targets begin with start and end with end",
        "the decoder must predict other tokens than those that are stored: targets are shifted wrongly",
        "read start + target, ask for target + end: data/batching.py, assemble",
        "docs/coach.md, shift; the paper, section 3.1 (outputs shifted right)",
        learning.framed,
    ),
    Lesson(
        "initial-loss",
        "fresh weights are as good as guessing",
        "above: the first weights or the scale of the embeddings are too large; below: the answer is seen",
        "look at nn/embedding.py and model.embedding_scale; below, at the next lines",
        "docs/coach.md, initial loss; the paper, section 3.4",
        learning.initial_loss,
        ("unknown", "frame"),
    ),
    Lesson(
        "overfit",
        "the model overfits one batch",
        "gradients do not reach the weights, or the loss asks for what cannot be known",
        "look at the lines below; at fine_tuning.frozen; at what was changed in the model or the loss last",
        "docs/coach.md, overfit one batch; the paper, section 5.4 (label smoothing has a floor)",
        learning.overfit,
    ),
    Lesson(
        "future",
        "no token attends to a later one",
        "the causal mask has no effect: training reads the answer, which translating does not have",
        "True means may attend: look at nn/masks.py, causal, and at what the decoder gives its self-attention",
        "docs/coach.md, masks; the paper, section 3.2.3",
        learning.no_future,
    ),
    Lesson(
        "padding",
        "padding does not matter",
        "the padding mask has no effect: the result of a sentence depends on the others in its batch",
        "True means may attend: look at nn/masks.py, padding, and at the lengths that the model is given",
        "docs/coach.md, masks; the paper, section 3.2.3",
        learning.padding,
        ("future",),
    ),
    Lesson(
        "source",
        "every piece of the source matters",
        "the source has no effect: its mask hides everything, or the decoder does not attend to it",
        "look at the mask and the memory that cross-attention is given",
        "docs/coach.md, masks; the paper, section 3.2.3",
        learning.source_matters,
    ),
    Lesson(
        "shift",
        "a token is predicted from those before it",
        "targets are shifted wrongly: the token to predict is read as well, or the one before it is not read",
        "read start + target, ask for target + end: data/batching.py, assemble, and training/batches/batch.py",
        "docs/coach.md, shift; the paper, section 3.1 (outputs shifted right)",
        learning.shifted,
        ("future",),
    ),
    Lesson(
        "free",
        "greedy search repeats the overfitted batch",
        "good with the right beginnings given, helpless without: shifted targets, or a search that steps otherwise "
        "than training reads",
        "look at the lines above; then at openwork verify, which compares steps with whole targets",
        "docs/coach.md, teacher-forced and free; Bengio et al. 2015",
        learning.predicts_freely,
        ("frame", "future", "shift"),
    ),
)


def coach(settings: RunSettings, report: Callable[[str], None]) -> list[CheckResult]:
    with trial_of(settings, report) as trial:
        return coach_trial(trial)


def coach_trial(trial: Trial) -> list[CheckResult]:
    return run_checks([lesson.check(trial) for lesson in LESSONS], trial)


def coach_lines(outcomes: Sequence[CheckResult]) -> Iterator[str]:
    """A line for each check with the measurement; below a failed one its meaning, a remedy and a reference."""
    width = max(shown_width(lesson.title) for lesson in LESSONS) + MARGIN
    for lesson, outcome in zip(LESSONS, outcomes, strict=True):
        found = outcome.finding
        result = found.measured if isinstance(found, Observation) else outcome.reason
        yield Joined(Padded(status_line(outcome.status), 8), Padded(lesson.title, width), result)
        if outcome.status is Status.FAILED:
            yield from (Joined(AsIs(INDENT), line) for line in _advice_lines(lesson, outcome))
    yield ""
    failed = sum(outcome.status is Status.FAILED for outcome in outcomes)
    if failed:
        yield msg(f"{failed} of {len(outcomes)} checks failed: begin with the first")
    else:
        yield msg("nothing found that would keep this run from learning")


def coach_values(outcomes: Sequence[CheckResult]) -> dict[str, Any]:
    checks = [
        {
            "name": lesson.name,
            "title": lesson.title,
            "status": outcome.status.value,
            "measured": getattr(outcome.finding, "measured", None),
            "expected": getattr(outcome.finding, "expected", None),
            "reason": outcome.reason,
            "meaning": lesson.meaning,
            "try": lesson.attempt,
            "read": lesson.read,
            "seconds": round(outcome.seconds, 3),
        }
        for lesson, outcome in zip(LESSONS, outcomes, strict=True)
    ]
    return {"version": SCHEMA_VERSION, "passed": all_passed(outcomes), "checks": checks}


def _advice_lines(lesson: Lesson, outcome: CheckResult) -> Iterator[str]:
    found = outcome.finding
    if isinstance(found, Observation):
        yield Joined("expected: ", found.expected)
        if found.wrong:
            yield found.wrong
        if found.spot is not None:
            yield place_line(found.spot)
    yield Joined("means: ", lesson.meaning)
    yield Joined("try: ", lesson.attempt)
    yield Joined("read: ", lesson.read)
