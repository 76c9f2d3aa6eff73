"""The commands of `openwork`, each loaded when it runs: the help needs their names and sentences only."""

import os
from collections import UserDict
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from openwork.base.messages import find_language
from openwork.cli.language import translate_help
from openwork.cli.terminal import translated


class CommandEntry(NamedTuple):
    """A command: the module of this package and the name in it, and the first sentence of its help."""

    module: str
    name: str
    sentence: str


class CommandGroup(NamedTuple):
    """Commands in one box of the help, by name."""

    title: str
    commands: dict[str, CommandEntry]


GROUPS = (
    CommandGroup("Train", {
        "demo": CommandEntry("finish", "demo", "Train a Transformer on dates and watch it learn."),
        "train": CommandEntry("train", "train", "Train a translator on sentence pairs."),
        "distill": CommandEntry(
            "distil", "distill", "Train a small, fast student that translates as a trained model does."
        ),
        "backtranslate": CommandEntry(
            "distil",
            "backtranslate",
            "Make training pairs of sentences without a translation, by a model of the other direction.",
        ),
        "finish": CommandEntry("finish", "finish", "End a training where it is, and write its bundle."),
        "average": CommandEntry("finish", "average", "Write the mean of several checkpoints of a run as a new bundle."),
        "coach": CommandEntry("checks", "coach", "Find out why a training does not learn, in about a minute."),
        "config": CommandEntry("config", "app", "Show, check, explain and convert run files."),
    }),
    CommandGroup("Use a model", {
        "translate": CommandEntry(
            "translate", "translate", "Translate standard input, or a folder of files, line for line; or a document."
        ),
        "transcribe": CommandEntry("transcribe", "transcribe", "Write the text of each sound, one line a file."),
        "caption": CommandEntry("transcribe", "caption", "Write the text of each picture on standard input."),
        "classify": CommandEntry(
            "labelling", "classify", "Classify each line of standard input: texts, or paths of pictures."
        ),
        "tag": CommandEntry("labelling", "tag", "Tag each word of each line of standard input."),
        "fill": CommandEntry("labelling", "fill", "Fill the gaps, written [MASK], of each line of standard input."),
        "answer": CommandEntry("labelling", "answer", "Find the answer to a question in a text, line for line."),
        "complete": CommandEntry("complete", "complete", "Continue each line of standard input with a language model."),
        "forecast": CommandEntry("forecast", "forecast", "Predict how series go on, as quantiles."),
        "score": CommandEntry("score", "score", "Score given translations by their probability."),
        "shortlist": CommandEntry(
            "translate", "shortlist", "Learn a shortlist of pieces, which makes translation faster."
        ),
        "serve": CommandEntry("serve", "serve", "Translate and continue texts for other programs, over HTTP."),
        "daemon": CommandEntry("serve", "daemon", "Keep bundles in memory for the shell: translations begin at once."),
        "import": CommandEntry("convert", "import_model", "Convert another toolkit's model to a bundle."),
        "export": CommandEntry("convert", "export", "Convert a bundle to another toolkit's model."),
        "prune": CommandEntry(
            "convert", "prune", "Take from a Transformer the layers, heads, rows, weights and pieces that matter least."
        ),
        "quantise": CommandEntry("convert", "quantise", "Write a bundle with its weights in fewer bits."),
    }),
    CommandGroup("Evaluate", {
        "evaluate": CommandEntry("evaluate", "evaluate", "Score a model: BLEU and chrF, accuracy and F1, or ROUGE."),
        "compare": CommandEntry("evaluate", "compare", "Compare two systems with significance tests."),
        "baseline": CommandEntry("evaluate", "baseline", "Score simple baselines, such as a bag of words."),
        "bits": CommandEntry("score", "bits", "Measure the bits per character of a language model."),
        "verify": CommandEntry("checks", "verify", "Check a trained model by computing everything in two ways."),
        "experiment": CommandEntry("experiment", "app", "Search settings and compare structures."),
    }),
    CommandGroup("Look inside", {
        "attention": CommandEntry(
            "attention", "attention", "Show what a translator attends to, for each layer and head."
        ),
        "explain": CommandEntry("explain", "explain", "Show how a translation or label is calculated, step by step."),
        "beam": CommandEntry(
            "beam", "beam", "Show the beam search of a translation as a tree: what was kept, what was dropped and why."
        ),
        "runs": CommandEntry("runs", "runs", "Compare trainings, also while they run: curves, figures, settings."),
        "info": CommandEntry("info", "info", "Describe a bundle or a preset."),
        "tokenize": CommandEntry("info", "tokenize", "Cut each line of standard input into pieces."),
        "paper": CommandEntry("study", "paper", "Show an equation, figure or table of the paper with our code."),
        "study": CommandEntry("study", "study", "Measure claims about architectures: gradients, depth, cost."),
    }),
    CommandGroup("Data", {
        "data": CommandEntry("data", "app", "List, fetch, measure, check and clean corpora."),
    }),
    CommandGroup("This machine", {
        "doctor": CommandEntry("checks", "doctor", "Check this machine: hardware, libraries, what is accelerated."),
        "completion": CommandEntry("completion", "completion", "Print a shell completion script."),
    }),
)  # fmt: skip

BY_NAME = {name: (entry, group.title) for group in GROUPS for name, entry in group.commands.items()}


def load_command(name: str) -> Any:
    """The whole command. KeyError for an unknown one."""
    from openwork.cli.options import as_command  # which knows the options of decoding, and so loads pydantic

    entry, title = BY_NAME[name]
    found = getattr(import_module(f"openwork.cli.{entry.module}"), entry.name)
    command: Any
    if isinstance(found, typer.Typer):
        command = typer.main.get_group(found)
    else:
        alone = typer.Typer(add_completion=False)
        alone.command(name)(as_command(found))
        command = typer.main.get_command(alone)
    command.name, command.rich_help_panel = name, title  # pyrefly: ignore[missing-attribute]
    return command


class LoadedCommands(UserDict[str, Any]):
    """The commands by name, each loaded when it is asked for."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(BY_NAME))

    def __getitem__(self, key: str) -> Any:
        if self.data[key] is None:
            self.data[key] = load_command(key)
        return self.data[key]


class LazyGroup(TyperGroup):
    """Lists the commands by their sentences, and loads the one that runs."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LoadedCommands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(BY_NAME)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command as the help lists it; None for an unknown one."""
        if cmd_name not in BY_NAME:
            return None
        entry, title = BY_NAME[cmd_name]
        return TyperCommand(cmd_name, help=translated(entry.sentence), rich_help_panel=translated(title))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        command = self.commands[name] if name is not None else None
        if command is not None and find_language(os.environ) != "en":
            translate_help(command, ctx)
        return name, command, rest
