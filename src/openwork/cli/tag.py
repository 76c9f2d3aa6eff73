"""openwork tag"""

from openwork.cli.labelling import LabelOptions, run_labelling
from openwork.cli.options import Bundle


def tag(
    *,
    bundle: Bundle,
    options: LabelOptions,
) -> None:
    """Tag each word of each line of standard input.

    Spaces separate words.

    echo 'flights from boston to denver' | openwork tag atis

    openwork tag atis --json < in.txt > out.jsonl
    """
    run_labelling("tag", bundle, options)
