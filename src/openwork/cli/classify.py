"""openwork classify"""

from openwork.cli.labelling import LabelOptions, run_labelling
from openwork.cli.options import Bundle


def classify(
    *,
    bundle: Bundle,
    options: LabelOptions,
) -> None:
    """Classify each line of standard input.

    A tab separates the two texts of a pair.

    echo 'a delight from start to end' | openwork classify sst2

    openwork classify sst2 --best 2 < in.txt > out.txt

    openwork classify sst2 --json < in.txt > out.jsonl
    """
    run_labelling("classify", bundle, options)
