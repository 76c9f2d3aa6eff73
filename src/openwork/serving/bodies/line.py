"""The body that asks how a line is translated."""

from pydantic import BaseModel, ConfigDict, Field

from openwork.serving.bodies.typed import Text
from openwork.serving.errors import Unmet

LONGEST = 2000  # characters


class LineRequest(BaseModel):
    """A line to translate."""

    model_config = ConfigDict(extra="forbid")
    text: Text = Field(description="one line")
    source: Text | None = Field(None, description="its language, such as en; none: any")
    target: Text | None = Field(None, description="language of the translation; none: any")
    bundle: Text | None = Field(None, description="name of a bundle, in place of languages")


def check_line(text: str) -> None:
    """Unmet for what is not one line of text, or too long."""
    if not text.strip() or "\n" in text or len(text) > LONGEST:
        raise Unmet(f"this is shown for one line of at most {LONGEST:,} characters")
