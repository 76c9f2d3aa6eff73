"""openwork score and openwork bits"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from openwork.base.errors import UsageError
from openwork.cli.options import AsJson, Bundle, load
from openwork.cli.progress import progress
from openwork.cli.terminal import print_result, report


def score(
    bundle: Bundle,
    source: Annotated[Path | None, Option(help="Source sentences, one a line, instead of standard input.")] = None,
    target: Annotated[Path | None, Option(help="Their translations, one a line.")] = None,
    as_json: Annotated[bool, Option("--json", help="One JSON object a line, with the value of each token.")] = False,
) -> None:
    """Score given translations by their probability.

    Log-probability (nats), the same per token, and perplexity.

    printf 'Ein Hund.\\tA dog.\\n' | openwork score de-en

    openwork score de-en --source test.de --target test.en
    """
    if (source is None) != (target is None):
        raise UsageError(
            "--source and --target go together", hint="give both files, or source<TAB>target lines", code="U026"
        )
    loaded = load(bundle)
    from openwork.inference.filters.lines import answer_stream
    from openwork.inference.scorer import ScoreFilter, Scorer, aligned_lines
    from openwork.metrics.ratio import perplexity

    scores = ScoreFilter(Scorer(loaded.model, loaded.tokenizers), as_json=as_json)
    answer_stream(scores.lines, report, None if source is None or target is None else aligned_lines(source, target))
    if scores.whole.count:
        report(f"all lines: {scores.whole.count:,} tokens, perplexity {perplexity(scores.whole):.4f}")


@dataclass(frozen=True)
class TextOptions:
    """The text to predict, and the training text of n-gram models."""

    text: Annotated[Path | None, Option(help="The text, one sentence a line (plain or gzip).")] = None
    corpus: Annotated[str | None, Option(help="A known corpus instead: one side of its split valid.")] = None
    side: Annotated[Literal["source", "target"], Option(help="Which side of the corpus.")] = "source"
    against: Annotated[
        Path | None, Option(help="Training text of n-gram models to compare with; for a corpus, its train split.")
    ] = None

    def check(self) -> None:
        """UsageError unless one text is named."""
        if (self.text is None) == (self.corpus is None):
            raise UsageError(
                "name the text to predict", hint="give --text FILE, or --corpus NAME with --side", code="U070"
            )
        if self.corpus is not None and self.against is not None:
            raise UsageError(
                "--against is for a --text", hint="leave it out: with --corpus it is the split train", code="U071"
            )


def bits(
    *,
    bundle: Bundle,
    texts: TextOptions,
    order: Annotated[int, Option(min=1, max=12, help="n of the n-gram models.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure the bits per character of a language model.

    Interpolated n-gram models are measured next to it.

    openwork bits english --text valid.en --against train.en

    openwork bits english --corpus tatoeba-en-de --side source
    """
    texts.check()
    loaded = load(bundle)
    from openwork.data.records import UNSAID
    from openwork.data.settings import OriginSettings
    from openwork.data.sources import source_of
    from openwork.evaluation.bits import bits_of

    def lines(text: Path | None, split: str) -> list[str]:
        named = {"text": str(text)} if text is not None else {"corpus": texts.corpus, "side": texts.side}
        return list(source_of(OriginSettings.model_validate(named), split, UNSAID).side("target"))

    tested = lines(texts.text, "valid")
    learnt = lines(texts.against, "train") if texts.corpus is not None or texts.against is not None else None
    with progress(len(tested), "scoring") as advanced:
        found = bits_of(loaded, tested, learnt, order, advanced)
    if found.left_out:
        report(f"{found.left_out:,} lines were left out: the model cannot score them")
    print_result(found.to_json, found.report_lines, as_json=as_json)
