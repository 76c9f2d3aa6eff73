"""Filter from texts to labels, as text or JSON."""

from pathlib import Path
from typing import Any

from openwork.base.errors import UsageError
from openwork.base.printing import json_text
from openwork.base.tasks import COMMANDS, Task, task_of
from openwork.bundles.bundle import Bundle
from openwork.inference.filters.lines import Answer, LineFilter
from openwork.inference.labeller import Filled, GapFiller, LabelledText, Labeller, Place
from openwork.metrics.labels import spans
from openwork.models.interfaces import MaskedModel


def label_filter(bundle: Bundle, path: Path, wanted: Task, best: int, *, as_json: bool) -> LineFilter:
    """The filter of the bundle at `path`: the best labels alone, or the `best` most probable ones of each place.

    UsageError where the model was trained for another task than `wanted`.
    """
    task = task_of(bundle.settings.model)
    if task != wanted:
        raise UsageError(
            f"{path}: the model was trained for the task {task}, not {wanted}",
            hint=f"{COMMANDS[task]} is for it, or name another bundle",
            code="U067",
        )
    model = bundle.model
    if task == "fill" and isinstance(model, MaskedModel):
        filler = GapFiller(model, bundle.tokenizers.source, model.mask_piece)
        return LineFilter(
            lambda texts, _: filler.fill(texts, best),
            lambda text, found: Answer(_filled_text(text, found, best, as_json=as_json), _notes(cut=found.cut)),
        )
    labeller = Labeller(model, bundle.tokenizers, task)

    def answer(text: str, found: LabelledText) -> Answer:
        line = json_line(task, text, found) if as_json else text_line(task, text, found, best)
        return Answer(line, _notes(cut=found.cut))

    return LineFilter(lambda texts, _: labeller.label(texts, best), answer)


def text_line(task: Task, text: str, found: LabelledText, best: int) -> str:
    """The labels with spaces between, or an answer's words; of several also probabilities, with tabs between places."""
    if best == 1:
        return answer_text(text, " ".join(found.best)) if task == "answer" else " ".join(found.best)
    if task == "answer":
        choices = [choice for place in found.places for choice in place]
        return "\t".join(f"{choice.probability:.4f} {answer_text(text, choice.label)}" for choice in choices)
    return "\t".join(_shown(place) for place in found.places)


def _shown(place: Place) -> str:
    return " ".join(f"{choice.probability:.4f} {choice.label.strip()}" for choice in place)


def answer_text(text: str, label: str) -> str:
    """The words of a text from the first number to the last; nothing for no numbers."""
    if not label:
        return ""
    first, last = map(int, label.split())
    return " ".join(text.split()[first : last + 1])


def json_line(task: Task, text: str, found: LabelledText) -> str:
    """One object: the text, whether it was cut, and its labels, its answers, or its words and spans."""
    values: dict[str, Any] = {"source": text, "cut": found.cut}
    first = found.places[0] if found.places else ()
    match task:
        case "tag":
            pairs = zip(found.words, [*found.places, *[()] * (len(found.words) - len(found.places))], strict=True)
            values["words"] = [{"word": word, "labels": _choices(place)} for word, place in pairs]
            values["spans"] = [
                {**span._asdict(), "text": answer_text(text, f"{span.first} {span.last}")} for span in spans(found.best)
            ]
        case "answer":
            values["answers"] = [
                {"text": answer_text(text, choice.label), "words": choice.label, "probability": choice.probability}
                for choice in first
            ]
        case _:
            values["labels"] = _choices(first)
    return json_text(values)


def _choices(place: Place) -> list[dict[str, Any]]:
    return [{"label": choice.label, "probability": choice.probability} for choice in place]


def _filled_text(text: str, found: Filled, best: int, *, as_json: bool) -> str:
    """The text with its gaps filled; of several pieces, those of each gap."""
    if as_json:
        gaps = [_choices(place) for place in found.gaps]
        return json_text({"source": text, "cut": found.cut, "text": found.text, "gaps": gaps})
    return found.text if best == 1 else "\t".join(_shown(place) for place in found.gaps)


def _notes(*, cut: bool) -> list[str]:
    return ["too long for the model, its end was left out"] if cut else []
