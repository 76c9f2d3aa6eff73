"""openwork completion, and the answers to the shells' completion scripts."""

import os
from typing import Annotated

from typer import Argument
from typer.completion import completion_init, get_completion_script

from openwork.base.errors import UsageError
from openwork.base.messages import nearest
from openwork.cli.terminal import print_text

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_OPENWORK_COMPLETE"  # set by the script that asks for completions


def completion(shell: Annotated[str, Argument(help="bash, zsh or fish.")]) -> None:
    """Print a shell completion script.

    With it a shell completes openwork's commands and options with Tab.

    echo 'eval "$(openwork completion bash)"' >> ~/.bashrc

    openwork completion fish > ~/.config/fish/completions/openwork.fish
    """
    if shell not in SHELLS:
        hint = nearest(shell, SHELLS, cutoff=0.4) or f"choose from {', '.join(SHELLS)}"
        raise UsageError(f"{shell}: there is no completion for this shell", hint=hint, code="U003")
    print_text(get_completion_script(prog_name="openwork", complete_var=VARIABLE, shell=shell))


def prepare_completion() -> None:
    """Lets the command line answer a completion script, if one asks."""
    if VARIABLE in os.environ:
        completion_init()
