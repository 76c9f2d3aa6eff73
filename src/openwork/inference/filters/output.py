"""The form of a line of output, and notes about a translation. No torch here."""

from dataclasses import dataclass

from openwork.base.printing import json_text
from openwork.inference.translation import Alternative, Translation


@dataclass(frozen=True)
class OutputFormat:
    """The form of a line of output: `best` translations, plain or as JSON."""

    best: int = 1
    as_json: bool = False

    def line(self, source: str, translations: list[Translation]) -> str:
        if self.as_json:
            found = [
                {"text": t.text, "score": t.score, "log_probability": t.log_probability, "finished": t.finished}
                | ({"missing": list(t.missing)} if t.missing else {})
                | ({"problem": t.problem} if t.problem else {})
                | ({"flags": list(t.flags)} if t.flags else {})
                for t in translations
            ]
            return json_text({"source": source, "cut": translations[0].cut, "translations": found})
        if self.best == 1 or not source.strip() or translations[0].problem:
            return translations[0].text  # a blank line stays blank in each form but JSON
        texts = (t.text.replace("\t", " ") for t in translations)
        return "\t".join(f"{t.score:.4f} {text}" for t, text in zip(translations, texts, strict=True))

    def alternatives(self, source: str, position: int, found: list[Alternative]) -> str:
        if self.as_json:
            listed = [{"piece": a.piece, "probability": a.probability, "text": a.text} for a in found]
            return json_text({"source": source, "position": position, "alternatives": listed})
        return "\t".join(f"{a.probability:.4f} {a.text.replace(chr(9), ' ')}" for a in found)


def translation_notes(best: Translation) -> list[str]:
    notes = []
    if best.problem:
        notes.append(f"not translated: {best.problem}")
    if best.cut:
        notes.append("too long for the model, its end was left out")
    if best.missing:
        notes.append(f"the translation lacks {', '.join(best.missing)}")
    if best.flags:
        notes.append(f"not to be trusted: {', '.join(best.flags)}")
    return notes
