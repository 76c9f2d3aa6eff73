"""Which embedding tables are one: a choice of every encoder-decoder, and another one of every language model."""

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

LanguageTying = Annotated[
    Literal["three-way", "embeddings"],
    Field(
        description="what is one besides the embeddings of prompt and continuation, which always are",
        json_schema_extra={
            "values": {
                "three-way": "the output matrix as well (Press and Wolf 2017; Radford et al. 2019, GPT-2)",
                "embeddings": "nothing: the output matrix is its own (Touvron et al. 2023, LLaMA)",
            }
        },
    ),
]

ONE_VOCABULARY = ("three-way", "embeddings")
"""The choices that take one vocabulary for source and target."""
