"""Lines for the user from code that has no `report` parameter, through the logger `openwork`.

The command line shows them on standard error, in the user's language. Another program decides by its logging settings.
"""

import logging

LOGGER = logging.getLogger("openwork")


def report(text: str) -> None:
    """Reports a line to the user."""
    LOGGER.warning("%s", text)
