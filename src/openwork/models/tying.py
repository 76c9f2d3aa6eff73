"""Which embedding tables are one: a choice that every encoder-decoder has."""

from typing import Annotated, Literal

from pydantic import Field

Tying = Annotated[
    Literal["three-way", "target", "none"],
    Field(
        description="which of source embedding, target embedding and output matrix are one",
        json_schema_extra={
            "values": {
                "three-way": "all three (Vaswani et al. 2017, section 3.4)",
                "target": "target embedding and output matrix (Press and Wolf 2017)",
                "none": "each its own",
            }
        },
    ),
]
