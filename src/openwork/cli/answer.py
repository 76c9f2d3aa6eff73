"""openwork answer"""

from openwork.cli.labelling import LabelOptions, run_labelling
from openwork.cli.options import Bundle


def answer(
    *,
    bundle: Bundle,
    options: LabelOptions,
) -> None:
    """Find the answer to a question in a text, line for line.

    A line of standard input is a question, a tab, and the text.

    printf 'who rang?\\tthe postman rang twice\\n' | openwork answer questions

    openwork answer questions --best 3 < in.tsv > out.txt

    openwork answer questions --json < in.tsv > out.jsonl
    """
    run_labelling("answer", bundle, options)
