"""openwork complete"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH
from openwork.cli.options import (
    Bundle,
    DecodingOptions,
    check_streaming,
    given,
    load,
    settings_for_streaming,
    settings_with_options,
)
from openwork.cli.terminal import report


@dataclass(frozen=True)
class PromptOptions:
    """Prompts, and the form of an output line."""

    length: Annotated[int, Option(min=1, max=LENGTH, help="Maximum number of pieces of a continuation.")] = 50
    examples: Annotated[Path | None, Option(help="Examples to put before each prompt: prompt, tab, continuation.")] = (
        None
    )
    chat: Annotated[bool, Option(help="Lines are a user's turns in a dialogue; a blank line starts another.")] = False
    instruction: Annotated[str, Option(help="With --chat: a text to put before the dialogue.")] = ""
    stream: Annotated[bool, Option(help="Write each piece as soon as it is found.")] = False
    as_json: Annotated[bool, Option("--json", help="One JSON object a line, with log-probabilities.")] = False

    def check(self) -> None:
        """UsageError for options that do not go together."""
        others = (("--examples", self.examples), ("--chat", self.chat), ("--json", self.as_json))
        check_streaming(name for name, is_given in others if self.stream and is_given)
        if self.chat and self.examples is not None:
            raise UsageError("--chat does not go with --examples", hint="leave one of them out", code="U072")
        if self.instruction and not self.chat:
            raise UsageError(
                "--instruction is for --chat", hint="write it into the prompts, or add --chat", code="U073"
            )


def complete(*, bundle: Bundle, prompts: PromptOptions, searching: DecodingOptions) -> None:
    """Continue each line of standard input with a language model.

    echo 'The weather is' | openwork complete english --samples 3 --top-p 0.9

    openwork complete english --examples sums.tsv < questions.txt

    openwork complete talker --chat
    """
    prompts.check()
    loaded = load(bundle)
    from openwork.data.readers.lines import read_tsv
    from openwork.inference import completer
    from openwork.inference.continuation import dialogue
    from openwork.inference.filters.lines import answer_stream, streaming_filter
    from openwork.inference.filters.output import OutputFormat
    from openwork.inference.translator import BatchTranslator

    examples = list(read_tsv(prompts.examples)) if prompts.examples is not None else []
    completer.check_continues(loaded)
    bounds = {"maximum_length": prompts.length, "extra_length": prompts.length}
    settle = settings_for_streaming if prompts.stream else settings_with_options
    decoding = settle(loaded.settings.decoding, {**bounds, **given(searching)})
    translator = BatchTranslator.of(loaded, decoding)
    output = OutputFormat(decoding.best, prompts.as_json)
    if prompts.stream:
        lines = streaming_filter(translator)
    elif prompts.chat:
        talking = completer.Completer(translator, dialogue.USER)
        lines = completer.dialogue_filter(talking, dialogue.Dialogue(prompts.instruction), output)
    else:
        writing = completer.Completer(translator, completer.LINE_END if examples else "")
        lines = completer.completion_filter(writing, completer.after_examples(examples), output)
    answer_stream(lines, report)
