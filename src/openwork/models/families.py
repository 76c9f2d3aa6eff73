"""The families of models: each a kind of the section `[model]`, with settings of its own. No torch here.

A new family is a file with its settings, a file with its model, and a line here and in the table of `build.py`.
Every family says with `tying` which of its matrices are one.
"""

from typing import Annotated, get_args

from pydantic import Field

from openwork.base.config import Settings
from openwork.models.encoder_lm_settings import EncoderSettings
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings

ModelSettings = Annotated[TransformerSettings | RecurrentSettings | EncoderSettings, Field(discriminator="kind")]
FAMILIES: tuple[type[Settings], ...] = get_args(get_args(ModelSettings)[0])
