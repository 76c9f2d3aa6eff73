"""Errors for users: what happened, why, and what to do about it.

Every error that a user's input can cause is an `OpenworkError`. The command line prints it in two or three lines and
exits with its exit code; a traceback means a bug.
"""

import logging


class OpenworkError(Exception):
    """An error with a cause and a hint; the command line returns `exit_code`.

    `what` says what is wrong, with file and line if possible, `why` gives the cause if `what` does not, and `hint` says
    what to type or change. `code`, such as "D014", names the error in docs/errors.md and never changes its meaning. Its
    letter is the kind: U command line, D data, C settings, B bundles and checkpoints, E others.
    """

    exit_code = 1

    def __init__(self, what: str, *, why: str = "", hint: str = "", code: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint
        self.code = code

    @property
    def sentence(self) -> str:
        """What is wrong, and why, in one line."""
        return f"{self.what}; {self.why}" if self.why else self.what


class UsageError(OpenworkError):
    """The command line itself is wrong."""

    exit_code = 2


class DataError(OpenworkError):
    """A corpus or a text file cannot be used as it is."""

    exit_code = 3


class ConfigError(OpenworkError):
    """A run file or a setting is wrong."""

    exit_code = 3


class RuleError(ValueError):
    """Raised by a validator of a settings model for a rule between keys; users see a `ConfigError` with their lines."""

    def __init__(self, what: str, *, hint: str, code: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what = what
        self.hint = hint
        self.code = code


class BundleError(OpenworkError):
    """A bundle or a checkpoint is missing, damaged or of another kind."""

    exit_code = 4


# Parts of torch's error messages.
NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "failed to map segment")


def wants_memory(error: BaseException) -> bool:
    """Whether the error of Python or torch means that memory is exhausted."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError | ImportError) and any(words in str(error) for words in NO_MEMORY)
    )


LOGGER = logging.getLogger("openwork")


def report(text: str) -> None:
    """Reports a line to the user."""
    LOGGER.warning("%s", text)
