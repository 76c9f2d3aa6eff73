"""openwork fill"""

from openwork.cli.labelling import LabelOptions, run_labelling
from openwork.cli.options import Bundle


def fill(
    *,
    bundle: Bundle,
    options: LabelOptions,
) -> None:
    """Fill the gaps, written [MASK], of each line of standard input.

    echo 'a [MASK] in the park' | openwork fill bert

    openwork fill bert --best 5 < in.txt > out.txt

    openwork fill bert --json < in.txt > out.jsonl
    """
    run_labelling("fill", bundle, options)
