"""Errors a person can act on: what happened, why, and what to do about it.

Every error that a user's input can cause is an `OpenworkError`. The command line prints it as two or three
lines and exits with its code; a traceback is for our mistakes only.
"""


class OpenworkError(Exception):
    """A failure with a cause and a remedy; `exit_code` is what the command line returns.

    `what` says what went wrong (with file and line where there is one), `why` gives the cause if it is not
    plain from `what`, and `hint` tells what to type or change. `code`, such as "D014", names the error in
    docs/errors.md; a code is never given to another error and never renumbered. Its letter is the kind: U the command
    line, D data, C settings, B bundles and checkpoints, E the rest.
    """

    exit_code = 1

    def __init__(self, what: str, *, why: str = "", hint: str = "", code: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint
        self.code = code


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
    """What a settings model's validator raises: a rule between keys. A person sees a `ConfigError` with their place."""

    def __init__(self, what: str, *, hint: str, code: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what = what
        self.hint = hint
        self.code = code


class BundleError(OpenworkError):
    """A trained system or a checkpoint is missing, damaged or of another kind."""

    exit_code = 4


NO_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "failed to map segment",
)  # words of torch's plain errors


def wants_memory(error: BaseException) -> bool:
    """Whether this is what Python or torch says when there is no memory left."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError | ImportError) and any(words in str(error) for words in NO_MEMORY)
    )
