"""Sentences whose result nobody waits for any longer, after some steps of their search."""

from collections.abc import Callable, Collection


def after(steps: int, sentences: Collection[int]) -> Callable[[], Collection[int]]:
    """Gives the sentences up at so many steps' end, and later."""
    asked = 0

    def given_up() -> Collection[int]:
        nonlocal asked
        asked += 1
        return sentences if asked >= steps else ()

    return given_up
