"""The bodies of OpenAI's routes: completions, chat completions, and the list of models.

What a request may have is typed here. Other fields of OpenAI are accepted with the values that change nothing, and
refused with any other.
"""

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from openwork.inference.continuation.text import Finish
from openwork.serving.bodies.translation import MOST_ALTERNATIVES
from openwork.serving.bodies.typed import Text

MOST_STOPS = 4
HALF = 2**63  # seeds are signed numbers of 64 bits
NO_EFFECT = ("user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")
"""Fields that change no answer, whatever their value."""


def _texts(value: Any) -> Any:
    if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise ValueError("must be a text or a list of texts; token ids are not supported")
    return value


Texts = Annotated[Text | list[Text], BeforeValidator(_texts)]
Stop = Annotated[Text, Field(min_length=1)]


class StreamOptions(BaseModel):
    """What a stream has besides the parts."""

    model_config = ConfigDict(extra="forbid")
    include_usage: bool = Field(False, description="the last event has the usage")
    include_obfuscation: Literal[False] = False


class SamplingRequest(BaseModel):
    """What both kinds of completions are asked for."""

    model_config = ConfigDict(extra="allow")
    neutral: ClassVar[dict[str, tuple[Any, ...]]] = {
        "frequency_penalty": (0,), "presence_penalty": (0,), "logit_bias": ({},), "service_tier": ("auto", "default"),
    }  # fmt: skip

    model: Text = Field(description="name of a bundle of a language model")
    max_tokens: int | None = Field(None, ge=1, description="the most tokens of an answer")
    temperature: float | None = Field(None, ge=0, le=2, description="0: the most probable token each time; none: 1")
    top_p: float | None = Field(None, gt=0, le=1, description="draws among the fewest tokens with this share; none: 1")
    n: int | None = Field(None, ge=1, le=MOST_ALTERNATIVES, description="answers to each prompt; none: 1")
    stop: Stop | list[Stop] | None = Field(None, description="up to 4 texts; an answer ends before the first of them")
    seed: int | None = Field(None, ge=-HALF, lt=HALF, description="the same seed draws the same for a prompt")
    stream: bool | None = Field(None, description="send parts as they are found, as server-sent events")
    stream_options: StreamOptions | None = None

    usual_length: ClassVar[int | None] = None
    """The most tokens of an answer without max_tokens; None: as many as there may be."""

    @property
    def length(self) -> int | None:
        return self.max_tokens

    @property
    def stops(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())

    @model_validator(mode="after")
    def _supported(self) -> "SamplingRequest":
        if len(self.stops) > MOST_STOPS:
            raise ValueError(f"stop may have {MOST_STOPS} texts")
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options is for stream")
        for name, value in (self.model_extra or {}).items():
            if value is None or name in NO_EFFECT or any(_same(value, one) for one in self.neutral.get(name, ())):
                continue
            if name not in self.neutral:
                raise ValueError(f"{name} is not a field that this server knows")
            others = " or ".join(map(json.dumps, self.neutral[name])) or "null"
            raise ValueError(f"{name} is not supported, other than as {others}")
        return self


def _same(value: Any, neutral: Any) -> bool:
    """Equal, where false is not 0."""
    return value == neutral and isinstance(value, bool) == isinstance(neutral, bool)


class CompletionRequest(SamplingRequest):
    """Texts to continue."""

    neutral: ClassVar[dict[str, tuple[Any, ...]]] = SamplingRequest.neutral | {
        "best_of": (1,), "echo": (False,), "suffix": ("",), "logprobs": (),
    }  # fmt: skip
    usual_length: ClassVar[int | None] = 16  # OpenAI's
    prompt: Texts


class TextPart(BaseModel):
    """A part of a message; only texts are read."""

    model_config = ConfigDict(extra="forbid")
    type: Literal["text"]
    text: Text


class Message(BaseModel):
    """A turn of a dialogue, or the instruction before it."""

    model_config = ConfigDict(extra="allow")
    role: Literal["system", "user", "assistant"]
    content: Text | list[TextPart]

    @property
    def text(self) -> str:
        """The content as one line, as the dialogues are that a model learns from."""
        whole = self.content if isinstance(self.content, str) else "\n".join(part.text for part in self.content)
        return " ".join(whole.splitlines())

    @model_validator(mode="after")
    def _of_text_alone(self) -> "Message":
        for name, value in (self.model_extra or {}).items():
            if value:
                raise ValueError(f"{name} is not supported in a message")
        return self


class ChatRequest(SamplingRequest):
    """A dialogue to continue by a reply."""

    neutral: ClassVar[dict[str, tuple[Any, ...]]] = SamplingRequest.neutral | {
        "logprobs": (False,), "top_logprobs": (0,), "store": (False,), "modalities": (["text"],),
        "response_format": ({"type": "text"},), "tools": ([],), "functions": ([],), "tool_choice": ("none", "auto"),
        "function_call": ("none", "auto"), "parallel_tool_calls": (True, False),
    }  # fmt: skip
    messages: list[Message] = Field(min_length=1, description="an instruction of the system or none, then turns")
    max_completion_tokens: int | None = Field(None, ge=1, description="the same as max_tokens")

    @property
    def length(self) -> int | None:
        return self.max_tokens or self.max_completion_tokens

    @model_validator(mode="after")
    def _in_order(self) -> "ChatRequest":
        roles = [message.role for message in self.messages]
        if "system" in roles[1:]:
            raise ValueError("messages: one of the system comes first, or none")
        if roles[-1] != "user":
            raise ValueError("messages: the last one must be the user's")
        if None not in (self.max_tokens, self.max_completion_tokens):
            raise ValueError("max_tokens and max_completion_tokens are the same; give one of them")
        return self


class Usage(BaseModel):
    """Counts of tokens: of each prompt once, and of all answers; symbols of start and end are not counted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CompletionChoice(BaseModel):
    """A continuation; of a stream, a part of it."""

    index: int
    text: str
    finish_reason: Finish | None = None
    logprobs: None = None


class CompletionAnswer(BaseModel):
    """Continuations of each prompt, in their order; of a stream, one event."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage | None = None


class Reply(BaseModel):
    """The assistant's turn."""

    role: Literal["assistant"] = "assistant"
    content: str


class ReplyPart(BaseModel):
    """A part of it; the first one has the role."""

    role: Literal["assistant"] | None = None
    content: str | None = None


class ChatChoice(BaseModel):
    """A reply."""

    index: int
    message: Reply
    finish_reason: Finish
    logprobs: None = None


class ChatAnswer(BaseModel):
    """Replies to a dialogue."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: Usage


class ChatPartChoice(BaseModel):
    """A part of a reply."""

    index: int
    delta: ReplyPart
    finish_reason: Finish | None = None
    logprobs: None = None


class ChatPart(BaseModel):
    """One event of a stream."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChatPartChoice]
    usage: Usage | None = None


class ModelEntry(BaseModel):
    """A language model that is served."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["openwork"] = "openwork"


class ModelList(BaseModel):
    """All of them."""

    object: Literal["list"] = "list"
    data: list[ModelEntry]


class Problem(BaseModel):
    """Why there is no other answer."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ProblemAnswer(BaseModel):
    """An error in OpenAI's form."""

    error: Problem


PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ProblemAnswer, "description": "The request is refused"},
    "5XX": {"model": ProblemAnswer, "description": "There is no answer, for now (503) or for this (500)"},
}
