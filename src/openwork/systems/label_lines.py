"""Labels as a filter: lines in, one line out for each, as text or JSON."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from openwork.base.errors import UsageError
from openwork.metrics.spans import is_bio, spans
from openwork.systems.bundle import Bundle
from openwork.systems.labeller import Labeller, Labelling, Place
from openwork.systems.requests import Asked
from openwork.systems.tasks import COMMANDS, Task, task_of
from openwork.systems.translate import Answer, Answering


def labeller_of(bundle: Bundle, path: Path, wanted: Task) -> Labeller:
    """What labels with the bundle at `path`; UsageError where its model was made for another task."""
    task = task_of(bundle.settings.model)
    if task != wanted:
        raise UsageError(
            f"{path}: the model was trained for the task {task}, not {wanted}",
            hint=f"{COMMANDS[task]} is for it, or name another bundle",
        )
    return Labeller(bundle.model, bundle.tokenizers, task)


def labelling(labeller: Labeller, best: int, *, as_json: bool) -> Answering:
    """Answers with labels: the best alone, or the `best` most probable of each place with their probabilities."""

    def answers(batch: Sequence[Asked]) -> Iterator[Answer]:
        texts = [asked.text for asked in batch]
        for text, found in zip(texts, labeller.label(texts, best), strict=True):
            line = json_line(text, found) if as_json else text_line(found, best)
            yield Answer(line, _notes(found))

    return answers


def text_line(found: Labelling, best: int) -> str:
    """The labels with spaces between; where several are wanted, each place's with probabilities, tabs between places."""
    if best == 1:
        return " ".join(found.best)
    places = [" ".join(f"{choice.probability:.4f} {choice.label}" for choice in place) for place in found.places]
    return "\t".join(places)


def json_line(text: str, found: Labelling) -> str:
    """One object: the text, whether it was cut, its labels, or its words with theirs and the spans that they mark."""
    values: dict[str, Any] = {"source": text, "cut": found.cut}
    if found.words:
        pairs = zip(found.words, [*found.places, *[()] * (len(found.words) - len(found.places))], strict=True)
        values["words"] = [{"word": word, "labels": _choices(place)} for word, place in pairs]
        if is_bio(found.best):
            values["spans"] = [
                {
                    "kind": span.kind,
                    "first": span.first,
                    "last": span.last,
                    "text": _words(found, span.first, span.last),
                }
                for span in spans(found.best)
            ]
    else:
        values["labels"] = _choices(found.places[0]) if found.places else []
    return json.dumps(values, ensure_ascii=False)


def _choices(place: Place) -> list[dict[str, Any]]:
    return [{"label": choice.label, "probability": choice.probability} for choice in place]


def _words(found: Labelling, first: int, last: int) -> str:
    return " ".join(found.words[first : last + 1])


def _notes(found: Labelling) -> list[str]:
    return ["too long for the model, its end was left out"] if found.cut else []
