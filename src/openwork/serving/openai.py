"""OpenAI's routes for language models: /v1/models, /v1/completions and /v1/chat/completions.

No bundle has a chat format of its own: messages become a dialogue in one line, as `openwork complete --chat` writes it.
"""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel

from openwork.inference.continuation.dialogue import ASSISTANT, USER, Dialogue, unmarked
from openwork.inference.continuation.text import Prompt
from openwork.serving.bodies.openai import (
    PROBLEMS,
    ChatAnswer,
    ChatChoice,
    ChatPart,
    ChatPartChoice,
    ChatRequest,
    CompletionAnswer,
    CompletionChoice,
    CompletionRequest,
    Message,
    ModelEntry,
    ModelList,
    Reply,
    ReplyPart,
    SamplingRequest,
    Usage,
)
from openwork.serving.errors import TooLong, Unmet, error_body
from openwork.serving.responses import unless_gone
from openwork.serving.service import LONGEST, LONGEST_PROMPT, NotTranslated, Part, SampledPrompts, ServedModel, Service
from openwork.serving.settings import ServerSettings

ANY_SEED = 1 << 63
EVENTS = {"text/event-stream": {"schema": {"type": "string"}}}


class CompletionForm:
    """The bodies of an answer to /v1/completions: a whole one, and the events of a stream."""

    prefix = "cmpl"

    def whole(self, facts: dict[str, Any], answers: Sequence[dict[str, Any]], usage: Usage) -> BaseModel:
        choices = [
            CompletionChoice(index=index, text=one["text"], finish_reason=one["finish"])
            for index, one in enumerate(answers)
        ]
        return CompletionAnswer(**facts, choices=choices, usage=usage)

    def first(self, facts: dict[str, Any], index: int) -> BaseModel | None:
        """The event before the first part of an answer."""
        return None

    def part(self, facts: dict[str, Any], index: int, text: str) -> BaseModel:
        return CompletionAnswer(**facts, choices=[CompletionChoice(index=index, text=text)])

    def last(self, facts: dict[str, Any], index: int, finish: Any) -> BaseModel:
        return CompletionAnswer(**facts, choices=[CompletionChoice(index=index, text="", finish_reason=finish)])

    def usage(self, facts: dict[str, Any], usage: Usage) -> BaseModel:
        return CompletionAnswer(**facts, choices=[], usage=usage)


class ChatForm(CompletionForm):
    """The bodies of an answer to /v1/chat/completions."""

    prefix = "chatcmpl"

    def whole(self, facts: dict[str, Any], answers: Sequence[dict[str, Any]], usage: Usage) -> BaseModel:
        choices = [
            ChatChoice(index=index, message=Reply(content=one["text"]), finish_reason=one["finish"])
            for index, one in enumerate(answers)
        ]
        return ChatAnswer(**facts, choices=choices, usage=usage)

    def first(self, facts: dict[str, Any], index: int) -> BaseModel | None:
        return self._part(facts, ChatPartChoice(index=index, delta=ReplyPart(role="assistant", content="")))

    def part(self, facts: dict[str, Any], index: int, text: str) -> BaseModel:
        return self._part(facts, ChatPartChoice(index=index, delta=ReplyPart(content=text)))

    def last(self, facts: dict[str, Any], index: int, finish: Any) -> BaseModel:
        return self._part(facts, ChatPartChoice(index=index, delta=ReplyPart(), finish_reason=finish))

    def usage(self, facts: dict[str, Any], usage: Usage) -> BaseModel:
        return ChatPart(**facts, choices=[], usage=usage)

    def _part(self, facts: dict[str, Any], choice: ChatPartChoice) -> BaseModel:
        return ChatPart(**facts, choices=[choice])


@dataclass(frozen=True)
class PromptRequests:
    """The prompts of requests on their way to the service."""

    service: Service
    settings: ServerSettings

    async def answer(
        self, request: Request, asked: SamplingRequest, prompts: Sequence[str], form: CompletionForm
    ) -> Response:
        """The continuations of prompts. UnknownModel, NotServed, Unmet, TooLong, Full, NotTranslated."""
        model = self.service.find_language_model(asked.model)
        tokens = await self._tokens(model, prompts, asked.n or 1)
        sampling = self._sampling(model, asked, prompts, tokens)
        facts = {"id": f"{form.prefix}-{secrets.token_hex(12)}", "created": int(time.time()), "model": model.name}
        if asked.stream:
            with_usage = asked.stream_options is not None and asked.stream_options.include_usage
            parts = self.service.stream_completions(model, sampling)
            events = _events(parts, form, facts, sum(tokens), with_usage=with_usage)
            return StreamingResponse(_lines(events, request.url.path), media_type="text/event-stream")
        answers = await unless_gone(request, self.service.complete(model, sampling))
        usage = _usage(sum(tokens), sum(one["pieces"] for one in answers))
        return JSONResponse(form.whole(facts, answers, usage).model_dump())

    async def _tokens(self, model: ServedModel, prompts: Sequence[str], times: int) -> list[int]:
        """The tokens of each prompt."""
        if len(prompts) * times > self.settings.most_lines:
            raise Unmet(f"{len(prompts) * times:,} answers; a request may have {self.settings.most_lines:,}")
        if any(len(prompt) > LONGEST for prompt in prompts):
            raise TooLong(f"a prompt may have {LONGEST:,} characters")
        tokens = await asyncio.to_thread(model.prompt_tokens, prompts)
        if max(tokens, default=0) > LONGEST_PROMPT:
            raise TooLong(f"the prompt has {max(tokens):,} tokens, and may have {LONGEST_PROMPT:,}")
        return tokens

    def _sampling(
        self, model: ServedModel, asked: SamplingRequest, prompts: Sequence[str], tokens: Sequence[int]
    ) -> SampledPrompts:
        """Each prompt `n` times, with its seed and length."""
        is_chat, made, counts = isinstance(asked, ChatRequest), [], []
        stops = (*asked.stops, USER) if is_chat else asked.stops
        for prompt, count in zip(prompts, tokens, strict=True):
            length = _length(model, count, asked)
            for number in range(asked.n or 1):
                seed, sample = (secrets.randbelow(ANY_SEED), 0) if asked.seed is None else (asked.seed, number)
                made.append(Prompt(prompt, length, stops, is_chat, seed, sample))
                counts.append(count)
        temperature, top_p = (1.0 if value is None else value for value in (asked.temperature, asked.top_p))
        return SampledPrompts(made, counts, temperature, top_p)


def add_openai(app: FastAPI, service: Service, settings: ServerSettings) -> None:
    """Adds OpenAI's routes."""
    prompts = PromptRequests(service, settings)

    @app.get("/v1/models", responses=PROBLEMS)
    async def models() -> ModelList:
        """The language models that are served, as OpenAI lists them."""
        return ModelList(data=[ModelEntry(id=one.name, created=one.changed) for one in service.language_models])

    @app.post("/v1/completions", responses={200: {"model": CompletionAnswer, "content": EVENTS}, **PROBLEMS})
    async def completions(asked: CompletionRequest, request: Request) -> Response:
        """Continue texts, as OpenAI does."""
        given = [asked.prompt] if isinstance(asked.prompt, str) else asked.prompt
        if not given:
            raise Unmet("prompt has no text")
        return await prompts.answer(request, asked, given, CompletionForm())

    @app.post("/v1/chat/completions", responses={200: {"model": ChatAnswer, "content": EVENTS}, **PROBLEMS})
    async def chat(asked: ChatRequest, request: Request) -> Response:
        """Reply to a dialogue, as OpenAI does; messages are joined as `openwork complete --chat` joins lines."""
        return await prompts.answer(request, asked, [_joined(asked.messages)], ChatForm())


def _joined(messages: Sequence[Message]) -> str:
    """The messages as the prompt of a reply."""
    instruction = messages[0].text if messages[0].role == "system" else ""
    marks = {"user": USER, "assistant": ASSISTANT}
    turns = [f"{marks[one.role]} {unmarked(one.text)}" for one in messages[:-1] if one.role != "system"]
    return Dialogue(instruction, turns).prompt(messages[-1].text)


def _length(model: ServedModel, tokens: int, asked: SamplingRequest) -> int:
    """The most tokens that may follow a prompt of so many."""
    most, length = model.longest, asked.length
    if length is not None and length > most:
        raise Unmet(f"max_tokens is {length:,}, and {model.name} writes at most {most:,}")
    if model.context is not None:
        most = min(most, model.context - tokens)
        if most < (length or 1):
            both = f"the prompt has {tokens:,} tokens and max_tokens is {length or 1:,}"
            raise TooLong(f"{both}; {model.name} reads {model.context:,} together")
    return length or min(most, asked.usual_length or most)


async def _events(
    parts: AsyncIterator[Part], form: CompletionForm, facts: dict[str, Any], prompt_tokens: int, *, with_usage: bool
) -> AsyncIterator[BaseModel]:
    """The events of a stream, without its end."""
    seen, pieces = set(), 0
    async for index, part in parts:
        if index not in seen and (first := form.first(facts, index)):
            yield first
        seen.add(index)
        if isinstance(part, str):
            yield form.part(facts, index, part)
        else:
            pieces += part["pieces"]
            yield form.last(facts, index, part["finish"])
    if with_usage:
        yield form.usage(facts, _usage(prompt_tokens, pieces))


async def _lines(events: AsyncIterator[BaseModel], path: str) -> AsyncIterator[str]:
    """Server-sent events, then the end or an error."""
    try:
        async for event in events:
            body = event.model_dump(exclude_none=True)
            body["choices"] = [{"finish_reason": None} | choice for choice in body["choices"]]
            yield f"data: {json.dumps(body, ensure_ascii=False)}\n\n"
        yield "data: [DONE]\n\n"
    except NotTranslated as error:
        yield f"data: {error_body(path, 500, str(error)).decode()}\n\n"


def _usage(prompt: int, completion: int) -> Usage:
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)
