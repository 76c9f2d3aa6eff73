"""What LibreTranslate's routes take and answer, for the description of the interface."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

AUTO = "auto"  # as the language of a source: any that leads to the target
MOST_ALTERNATIVES = 15


class LibreTranslation(BaseModel):
    """One text or several. Fields that LibreTranslate has and this server does not know are passed over."""

    q: str | list[str] = Field(description="the text, or several", min_length=1)
    source: str = Field("auto", description="its language; auto: any that leads to the target")
    target: str | None = Field(None, description="the language of the translation; none: any")
    format: Literal["text", "html"] = Field("text", description="html: tags stay, and come to the words of theirs")
    alternatives: int = Field(0, ge=0, le=MOST_ALTERNATIVES, description="further translations of each")
    api_key: str = Field("", description="the token, in place of the header Authorization")


class LibreTranslationAnswer(BaseModel):
    """The translation of a text, or a list of those of several."""

    model_config = ConfigDict(extra="forbid")
    translatedText: str | list[str]
    alternatives: list[str] | list[list[str]] = []


class LibreFile(BaseModel):
    """Where a translated document can be fetched."""

    translatedFileUrl: str


class LibreDetection(BaseModel):
    """A text whose language is wanted."""

    q: str
    api_key: str = ""


class DetectedLanguage(BaseModel):
    """A language, and how sure it is, in percent."""

    language: str
    confidence: float


class LibreLanguage(BaseModel):
    """A language, and those that it is translated into."""

    code: str
    name: str
    targets: list[str]


class ErrorAnswer(BaseModel):
    """Why there is no other answer: a sentence."""

    error: str


REFUSALS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorAnswer, "description": "The request is refused"},
    "5XX": {"model": ErrorAnswer, "description": "There is no answer, for now (503) or for these texts (500)"},
}


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """The description of a body that is JSON or a form, for FastAPI's `openapi_extra`."""
    content = {"schema": model.model_json_schema()}
    kinds = ("application/json", "application/x-www-form-urlencoded")
    return {"requestBody": {"required": True, "content": dict.fromkeys(kinds, content)}}
