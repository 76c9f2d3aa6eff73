"""The translator as a filter: lines in, lines out, one for one, whatever they hold."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from openwork.systems.lines import arriving_lines, clean_line, standard_input
from openwork.systems.translator import Translation, Translator


@dataclass(frozen=True)
class Output:
    """How results are printed: `best` translations a line, plain or as JSON."""

    best: int = 1
    as_json: bool = False

    def line(self, source: str, translations: list[Translation]) -> str:
        """What is printed for one line of input; never more than one line."""
        if self.as_json:
            found = [
                {"text": t.text, "score": t.score, "log_probability": t.log_probability, "finished": t.finished}
                for t in translations
            ]
            return json.dumps({"source": source, "cut": translations[0].cut, "translations": found}, ensure_ascii=False)
        if self.best == 1 or not source.strip():
            return translations[0].text  # a blank line stays blank in each form but JSON
        texts = (t.text.replace("\t", " ") for t in translations)
        return "\t".join(f"{t.score:.4f} {text}" for t, text in zip(translations, texts, strict=True))


def translate_stream(
    translator: Translator, output: Output, say: Callable[[str], None], stream: BinaryIO | None = None
) -> int:
    """Translates standard input (or `stream`) to standard output; gives the number of lines."""
    number = 0
    for batch in arriving_lines(stream or standard_input()):
        texts = []
        for data in batch:
            number += 1
            text, problem = clean_line(data)
            if problem:
                say(f"line {number}: {problem}")
            texts.append(text)
        for offset, (text, translations) in enumerate(zip(texts, translator.translate(texts), strict=True)):
            if translations[0].cut:
                say(f"line {number - len(batch) + offset + 1}: too long for the model, its end was left out")
            sys.stdout.buffer.write(output.line(text, translations).encode("utf-8", errors="replace") + b"\n")
        sys.stdout.buffer.flush()
    return number
