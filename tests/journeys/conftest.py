"""The command line within the test's own process, as the tests of `systems` have it."""

from systems.conftest import call

__all__ = ["call"]
