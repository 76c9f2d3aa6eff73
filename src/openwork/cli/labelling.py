"""openwork classify, tag, fill and answer: commands that predict labels"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from openwork.base.limits import LENGTH
from openwork.cli.options import Bundle, load
from openwork.cli.terminal import report


@dataclass(frozen=True)
class LabelOptions:
    """The form of an output line."""

    best: Annotated[
        int, Option(min=1, max=LENGTH, help="Number of most probable labels, with their probabilities.")
    ] = 1
    as_json: Annotated[bool, Option("--json", help="One JSON object a line, with probabilities.")] = False


def _label(task: Literal["classify", "tag", "fill", "answer"], bundle: Path, options: LabelOptions) -> None:
    loaded = load(bundle)
    from openwork.inference.filters.lines import answer_stream
    from openwork.inference.labeller import label_filter

    answer_stream(label_filter(loaded, bundle, task, options.best, as_json=options.as_json), report)


def classify(*, bundle: Bundle, options: LabelOptions) -> None:
    """Classify each line of standard input: texts, or paths of pictures.

    A tab separates the two texts of a pair.

    echo 'a delight from start to end' | openwork classify sst2

    openwork classify sst2 --best 2 < in.txt > out.txt

    openwork classify sst2 --json < in.txt > out.jsonl

    ls digits/*.png | openwork classify digits-vit
    """
    _label("classify", bundle, options)


def tag(*, bundle: Bundle, options: LabelOptions) -> None:
    """Tag each word of each line of standard input.

    Spaces separate words.

    echo 'flights from boston to denver' | openwork tag atis

    openwork tag atis --json < in.txt > out.jsonl
    """
    _label("tag", bundle, options)


def fill(*, bundle: Bundle, options: LabelOptions) -> None:
    """Fill the gaps, written [MASK], of each line of standard input.

    echo 'a [MASK] in the park' | openwork fill bert

    openwork fill bert --best 5 < in.txt > out.txt

    openwork fill bert --json < in.txt > out.jsonl
    """
    _label("fill", bundle, options)


def answer(*, bundle: Bundle, options: LabelOptions) -> None:
    """Find the answer to a question in a text, line for line.

    A line of standard input is a question, a tab, and the text.

    printf 'who rang?\\tthe postman rang twice\\n' | openwork answer questions

    openwork answer questions --best 3 < in.tsv > out.txt

    openwork answer questions --json < in.tsv > out.jsonl
    """
    _label("answer", bundle, options)
