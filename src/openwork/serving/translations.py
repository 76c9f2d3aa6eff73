"""Lines of a request on their way: what each must contain, and the text that their translations are together."""

from collections.abc import Callable, Sequence
from typing import Any

from openwork.data.glossary import Glossary, Term
from openwork.serving.bodies.translation import RankedText, TranslatedText, TranslationRequest
from openwork.serving.errors import Unmet
from openwork.serving.options import TextConstraints

MOST_LOOKUPS = 1_000_000  # of terms in a request's texts: half a second


def constraints_by_line(asked: TranslationRequest) -> Callable[[str], TextConstraints]:
    """The constraints of a line: those of the request, and the translations of the terms that the line has.

    Unmet for more terms than can be looked for in the texts while others wait.
    """
    given = asked.constraints
    if not asked.terms:
        return lambda line: given
    glossary = Glossary([Term(source, target, 0) for source, target in asked.terms.items() if source])
    if glossary.most_lengths * sum(map(len, asked.texts)) > MOST_LOOKUPS:
        raise Unmet("so many terms of different lengths are too much for texts of this length; send fewer of either")
    return lambda line: given.with_required(tuple(glossary.required(line)))


def joined(lines: list[list[dict[str, Any]]], ends: Sequence[str]) -> TranslatedText:
    """A text of its lines' translations, each with its end; what a line alone has only of a single line."""
    if len(lines) == 1 and not ends[0]:
        (best, *others), tokens = lines[0], lines[0][0].get("tokens")
        explanation = None
        if tokens is not None:
            explanation = {
                "pieces": [one["piece"] for one in tokens],
                "log_probabilities": [one["log_probability"] for one in tokens],
                "alignment": best["alignment"],
            }
        return TranslatedText(
            **best,
            explanation=explanation,
            alternatives=[RankedText(**one) for one in others],  # type: ignore[arg-type]
        )
    best = [line[0] for line in lines]
    return TranslatedText(
        text="\n".join(one["text"] + end for one, end in zip(best, ends, strict=True)),
        finished=all(one["finished"] for one in best),
        cut=any(one["cut"] for one in best),
        missing=[lost for one in best for lost in one["missing"]],
        problem="; ".join(dict.fromkeys(one["problem"] for one in best if one["problem"])),
        flags=sorted({flag for one in best for flag in one["flags"]}),
    )
