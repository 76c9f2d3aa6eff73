"""The coach's checks in one table, and all of them carried out on a run file."""

from collections.abc import Callable

from openwork.checks.check import CheckResult, run_check
from openwork.runs.coach.learning import initial_loss, overfit, said_freely
from openwork.runs.coach.lesson import Lesson
from openwork.runs.coach.pieces import comes_back, few_unknown, pieces_a_word, sides_differ
from openwork.runs.coach.trial import Trial, trial_of
from openwork.runs.coach.wiring import framed, no_future, padding, shifted, source_felt
from openwork.runs.file.settings import RunSettings

# Overfitting comes first: the checks below it try the model that has learnt something.
LESSONS: tuple[Lesson, ...] = (
    Lesson(
        "round-trip",
        "text comes back from its pieces",
        "the tokenizer loses text, so no training can bring it back",
        "look at a line with: openwork tokenize; read the tokenizer's file again, or learn one (text.kind)",
        "docs/coach.md, tokenizer; Kudo and Richardson 2018",
        comes_back,
    ),
    Lesson(
        "unknown",
        "few pieces are unknown",
        "what is unknown can neither be read nor said",
        'take text.kind = "byte-pair" or a larger text.vocabulary_size; a tokenizer from a file must fit the language',
        "docs/coach.md, tokenizer; Sennrich et al. 2016",
        few_unknown,
    ),
    Lesson(
        "pieces",
        "words are cut into few pieces",
        "text in crumbs is long and hard to learn: the vocabulary is far too small or belongs to another language",
        "raise text.vocabulary_size, or learn the tokenizer from these texts",
        "docs/coach.md, tokenizer; Sennrich et al. 2016",
        pieces_a_word,
    ),
    Lesson(
        "sides",
        "source and target are different texts",
        "the model would learn to copy",
        "look at the files that data.source and data.target name; openwork data check",
        "docs/coach.md, data",
        sides_differ,
    ),
    Lesson(
        "frame",
        "targets begin with start and end with end",
        "the decoder is asked for other tokens than those that are stored: targets are shifted wrongly",
        "read start + target, ask for target + end: data/batching.py, assemble",
        "docs/coach.md, shift; the paper, section 3.1 (outputs shifted right)",
        framed,
    ),
    Lesson(
        "initial-loss",
        "fresh weights are as good as guessing",
        "above: the first weights or the scale of the embeddings are too large; below: the answer is seen",
        "look at nn/initialise.py and model.embedding_scale; below, at the next lines",
        "docs/coach.md, initial loss; the paper, section 3.4",
        initial_loss,
        ("unknown", "frame"),
    ),
    Lesson(
        "overfit",
        "the model overfits one batch",
        "gradients do not reach the weights, or the loss asks for what cannot be known",
        "look at the lines below; at fine_tuning.frozen; at what was changed in the model or the loss last",
        "docs/coach.md, overfit one batch; the paper, section 5.4 (label smoothing has a floor)",
        overfit,
    ),
    Lesson(
        "future",
        "no token looks at a later one",
        "the causal mask is dead: training reads the answer, and translating finds nothing to read",
        "True means may attend: look at nn/masks.py, causal, and at what the decoder gives its self-attention",
        "docs/coach.md, masks; the paper, section 3.2.3",
        no_future,
    ),
    Lesson(
        "padding",
        "padding does not matter",
        "the padding mask is dead: what a sentence becomes depends on the sentences beside it",
        "True means may attend: look at nn/masks.py, padding, and at the lengths that the model is given",
        "docs/coach.md, masks; the paper, section 3.2.3",
        padding,
        ("future",),
    ),
    Lesson(
        "source",
        "every piece of the source matters",
        "the encoder is not heard: its mask hides everything, or the decoder does not ask it",
        "look at the mask and the memory that cross-attention is given",
        "docs/coach.md, masks; the paper, section 3.2.3",
        source_felt,
    ),
    Lesson(
        "shift",
        "a token is predicted from those before it",
        "targets are shifted wrongly: the token asked for is read as well, or the one before it is not read",
        "read start + target, ask for target + end: data/batching.py, assemble, and training/batches/batch.py",
        "docs/coach.md, shift; the paper, section 3.1 (outputs shifted right)",
        shifted,
        ("future",),
    ),
    Lesson(
        "free",
        "greedy search repeats the overfitted batch",
        "good with the right beginnings given, helpless without: shifted targets, or a search that steps otherwise "
        "than training reads",
        "look at the lines above; then at openwork verify, which compares steps with whole targets",
        "docs/coach.md, teacher-forced and free; Bengio et al. 2015",
        said_freely,
        ("frame", "future", "shift"),
    ),
)


def coach(settings: RunSettings, say: Callable[[str], None]) -> list[CheckResult]:
    """Carries out all checks, in their order."""
    with trial_of(settings, say) as trial:
        return coach_trial(trial)


def coach_trial(trial: Trial) -> list[CheckResult]:
    """The checks of a trial that is made already."""
    done: dict[str, CheckResult] = {}
    for lesson in LESSONS:
        done[lesson.name] = run_check(lesson.check(trial), trial, done)
    return list(done.values())
