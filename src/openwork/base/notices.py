"""What is to be said to the user from a place that was given nobody to say it to: the logger `openwork`.

The command line shows it on standard error, in the user's language; another program sees what it lets its loggers show.
"""

import logging

LOGGER = logging.getLogger("openwork")


def say(text: str) -> None:
    """A line for the user."""
    LOGGER.warning("%s", text)
