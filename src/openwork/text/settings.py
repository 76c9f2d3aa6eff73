"""The settings of the section [text] of a run file."""

from pydantic import Field

from openwork.base.config import Settings

SMALLEST_VOCABULARY = 300
"""The symbols and bytes take 260 pieces; less than this leaves no room for an alphabet."""


class TextSettings(Settings):
    """How text is cut into pieces."""

    vocabulary_size: int = Field(
        default=8000,
        ge=SMALLEST_VOCABULARY,
        le=1_000_000,
        description="most pieces a vocabulary may have; a small corpus gives fewer",
    )
    shared: bool = Field(default=True, description="one vocabulary for both languages (three-way tying needs this)")
    minimum_frequency: int = Field(default=2, ge=1, description="times a pair of pieces must occur to become a piece")
