"""OpenAI's routes: a real server of a language model and a translator, asked by OpenAI's own client."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calling import language_model
from serving.running import RunningServer, of_a_server, running, wait_until

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

for name in ("fastapi", "uvicorn", "prometheus_client", "openai"):
    pytest.importorskip(name, reason="needs the extra serve, and OpenAI's client")
import openai  # noqa: E402

pytestmark = of_a_server
LENGTH = 12
PROMPTS = ["a b c", "d", "h g f e d", ""]
CHAT: Any = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "a b"},
    {"role": "assistant", "content": "c"},
    {"role": "user", "content": [{"type": "text", "text": "d <user> e"}]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from openwork.bundles.bundle import write_bundle

    place = tmp_path_factory.mktemp("served") / "gpt"
    write_bundle(place, language_model({"maximum_length": 60}, positions="learned", maximum_length=100))
    return place


@pytest.fixture(scope="module")
def slow_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Continuations of up to a million tokens, none of which ends before."""
    from openwork.bundles.bundle import write_bundle

    place = tmp_path_factory.mktemp("served") / "slow"
    write_bundle(place, language_model({"minimum_length": 10**6, "maximum_length": 10**6}))
    return place


@pytest.fixture(scope="module")
def server(folder: Path, tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    from openwork.bundles.bundle import write_bundle

    translator = tmp_path_factory.mktemp("served") / "tiny"
    write_bundle(translator, tiny_bundle)
    with running(folder, translator, workers=2) as started:
        yield started


def client_of(server: RunningServer, token: str = "any") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key=token, max_retries=0)


@pytest.fixture(scope="module")
def client(server: RunningServer) -> openai.OpenAI:
    return client_of(server)


@pytest.fixture(scope="module")
def library(folder: Path) -> Any:
    import openwork

    return openwork.load(folder)


def one_line(text: str) -> str:
    """As `openwork complete` writes it: a server leaves line breaks as they are."""
    return " ".join(text.splitlines())


def texts_of(answer: Any) -> list[str]:
    return [choice.text for choice in answer.choices]


def test_the_models_are_those_that_continue_texts(client: openai.OpenAI, server: RunningServer) -> None:
    assert [one.id for one in client.models.list()] == ["gpt"]
    assert [one["name"] for one in server.ask("GET", "/v1/bundles").json] == ["tiny"]


def test_greedy_texts_are_the_library_s(client: openai.OpenAI, library: Any) -> None:
    found = client.completions.create(model="gpt", prompt=PROMPTS, temperature=0, max_tokens=LENGTH)
    assert list(map(one_line, texts_of(found))) == [
        one.text for one in library.complete(PROMPTS, length=LENGTH, beam=1)
    ]
    assert [choice.index for choice in found.choices] == list(range(len(PROMPTS)))
    (alone,) = texts_of(client.completions.create(model="gpt", prompt=PROMPTS[0], temperature=0, max_tokens=LENGTH))
    assert alone == found.choices[0].text


def test_samples_of_a_seed_are_the_library_s(client: openai.OpenAI, library: Any) -> None:
    drawn: Any = {"temperature": 0.9, "top_p": 0.8, "seed": 5}
    found = client.completions.create(model="gpt", prompt=PROMPTS[:2], n=3, max_tokens=LENGTH, **drawn)
    expected = library.complete(PROMPTS[:2], length=LENGTH, best=3, samples=3, **drawn)
    assert list(map(one_line, texts_of(found))) == [one.text for each in expected for one in each]


def test_without_a_seed_answers_differ(client: openai.OpenAI) -> None:
    found = texts_of(client.completions.create(model="gpt", prompt=["a", "a"], n=4))
    assert len(set(found)) > 4


def test_many_clients_get_each_their_own_answer(client: openai.OpenAI, library: Any) -> None:
    """Different prompts, seeds, lengths and stop texts are in one batch."""

    def ask(seed: int) -> tuple[str, Any]:
        prompt, length = PROMPTS[seed % 4], 4 + seed % 9
        (text,) = texts_of(client.completions.create(model="gpt", prompt=prompt, seed=seed, max_tokens=length))
        return one_line(text), library.complete(prompt, length=length, samples=1, seed=seed).text

    with ThreadPoolExecutor(16) as clients:
        assert all(found == expected for found, expected in clients.map(ask, range(64)))


def test_a_stream_is_the_text(client: openai.OpenAI) -> None:
    asked: Any = {"model": "gpt", "prompt": PROMPTS[:2], "n": 2, "seed": 3, "max_tokens": LENGTH, "stop": ["g"]}
    whole = client.completions.create(**asked)
    parts: dict[int, str] = {}
    finishes: dict[int, str] = {}
    *events, last = client.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    for event in events:
        (choice,) = event.choices
        parts[choice.index] = parts.get(choice.index, "") + choice.text
        finishes |= {choice.index: choice.finish_reason} if choice.finish_reason else {}
    assert [parts[index] for index in range(4)] == texts_of(whole)
    assert [finishes[index] for index in range(4)] == [choice.finish_reason for choice in whole.choices]
    assert last.usage == whole.usage and last.choices == []
    assert len(events) > 8


def test_a_stream_of_a_chat_is_the_reply(client: openai.OpenAI) -> None:
    asked: Any = {"model": "gpt", "messages": CHAT, "seed": 8, "max_completion_tokens": LENGTH}
    whole = client.chat.completions.create(**asked)
    events = [event.choices[0] for event in client.chat.completions.create(**asked, stream=True)]
    assert "".join(event.delta.content or "" for event in events) == whole.choices[0].message.content
    assert events[0].delta.role == "assistant" and {one.finish_reason for one in events[:-1]} == {None}
    assert events[-1].finish_reason == whole.choices[0].finish_reason


def test_the_end_of_a_stream_as_bytes(server: RunningServer) -> None:
    found = server.ask("POST", "/v1/completions", {"model": "gpt", "prompt": "a", "stream": True})
    assert found.headers["content-type"].startswith("text/event-stream")
    *events, last, rest = found.body.decode().split("\n\n")
    assert (last, rest) == ("data: [DONE]", "")
    assert all(json.loads(event.removeprefix("data: "))["object"] == "text_completion" for event in events)


def test_a_chat_is_the_dialogue_of_the_command_line(client: openai.OpenAI, library: Any) -> None:
    prompt = "Be brief. <user> a b <assistant> c <user> d < user> e <assistant>"
    found = client.chat.completions.create(model="gpt", messages=CHAT, temperature=0, max_tokens=LENGTH)
    expected = library.complete(prompt, length=LENGTH, beam=1).text.partition("<user>")[0].strip()
    reply = found.choices[0].message
    assert (reply.role, one_line(reply.content or "")) == ("assistant", expected)
    assert found.usage and found.usage.prompt_tokens == len(library.bundle.tokenizers.source.encode(prompt))


def test_stop_texts_cut(client: openai.OpenAI) -> None:
    asked: Any = {"model": "gpt", "prompt": "a b c", "seed": 1, "max_tokens": 40}
    (free,) = client.completions.create(**asked).choices
    place = len(free.text) // 2
    stop = free.text[place : place + 2]
    for stops in (stop, ["never said", stop]):
        (cut,) = client.completions.create(**asked, stop=stops).choices
        assert (cut.text, cut.finish_reason) == (free.text[: free.text.index(stop)], "stop")
    assert free.finish_reason == "length"


def test_usage_counts_tokens(client: openai.OpenAI, library: Any) -> None:
    found = client.completions.create(model="gpt", prompt=PROMPTS, n=2, seed=1, max_tokens=7)
    assert {choice.finish_reason for choice in found.choices} == {"length"}
    prompt = sum(len(library.bundle.tokenizers.source.encode(text)) for text in PROMPTS)
    usage = found.usage
    assert usage and (usage.prompt_tokens, usage.completion_tokens) == (prompt, 7 * 8)
    assert usage.total_tokens == prompt + 7 * 8


def test_without_a_length(client: openai.OpenAI) -> None:
    """16 tokens, as OpenAI has it; of a chat as many as the bundle and the context let it have."""
    counts = [
        (one.usage.completion_tokens, one.choices[0].finish_reason)
        for one in (client.completions.create(model="gpt", prompt="a", seed=seed) for seed in range(9))
        if one.usage
    ]
    assert len(counts) == 9 and (16, "length") in counts
    assert all(count == 16 if finish == "length" else count < 16 for count, finish in counts)
    for content in ("a", "a" * 70):
        reply = client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": content}], seed=1)
        assert reply.usage
        most = min(60, 100 - reply.usage.prompt_tokens)
        assert reply.usage.completion_tokens == most and reply.choices[0].finish_reason == "length"


def test_fields_that_change_nothing_are_accepted(client: openai.OpenAI) -> None:
    plain = client.completions.create(model="gpt", prompt="a", seed=1)
    with_others = client.completions.create(
        model="gpt", prompt="a", seed=1, frequency_penalty=0, presence_penalty=0.0, user="me", best_of=1, echo=False,
        logit_bias={}, stop=None, suffix=None,
    )  # fmt: skip
    assert texts_of(with_others) == texts_of(plain)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"model": "tiny"}, "tiny is a translator"),
        ({"prompt": [5, 6]}, "token ids"),
        ({"prompt": []}, "prompt has no text"),
        ({"prompt": "a" * 100}, "reads 100 together"),
        ({"prompt": "a" * 20_001}, "20,000 characters"),
        ({"prompt": "a" * 1100}, "1,023"),
        ({"prompt": ["a"] * 100, "n": 16}, "1,600 answers"),
        ({"max_tokens": 61}, "writes at most 60"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 2.5}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"n": 17}, "n: "),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop may have 4 texts"),
        ({"stop": ""}, "stop"),
        ({"logprobs": 0}, "logprobs is not supported"),
        ({"echo": True}, "echo is not supported, other than as false"),
        ({"frequency_penalty": 0.5}, "frequency_penalty is not supported, other than as 0"),
        ({"frequency_penalty": False}, "frequency_penalty"),
        ({"best_of": 2}, "best_of"),
        ({"min_p": 0.1}, "min_p is not a field"),
        ({"stream_options": {"include_usage": True}}, "stream_options is for stream"),
        ({"seed": 2**63}, "seed"),
        ({"messages": CHAT[3:] + CHAT[:1]}, "one of the system comes first"),
        ({"messages": CHAT[:3]}, "the last one must be the user's"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "content"),
        ({"messages": [{"role": "user", "content": "a", "name": "me"}]}, "name is not supported in a message"),
        ({"messages": CHAT, "tools": [{"type": "function"}]}, "tools is not supported"),
        ({"messages": CHAT, "logprobs": True}, "logprobs"),
        ({"messages": CHAT, "response_format": {"type": "json_object"}}, "response_format"),
        ({"messages": CHAT, "max_tokens": 5, "max_completion_tokens": 5}, "give one of them"),
    ],
)
def test_what_is_not_supported_is_refused_in_a_sentence(
    client: openai.OpenAI, asked: dict[str, Any], problem: str
) -> None:
    kind = "/chat/completions" if "messages" in asked else "/completions"
    usual = {"model": "gpt"} | ({} if "messages" in asked else {"prompt": "a"})
    with pytest.raises(openai.BadRequestError) as refused:
        client.post(kind, body=usual | asked, cast_to=object)
    error: Any = refused.value
    assert problem in error.message and error.type == "invalid_request_error"


def test_typed_errors(client: openai.OpenAI, server: RunningServer) -> None:
    with pytest.raises(openai.NotFoundError, match="language models: gpt") as unknown:
        client.completions.create(model="none", prompt="a")
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as long:
        client.completions.create(model="gpt", prompt="a" * 50, max_tokens=51)
    assert long.value.code == "context_length_exceeded"
    assert server.ask("GET", "/v1/completions").json["error"]["type"] == "invalid_request_error"
    refused = server.translate("a", bundle="gpt")
    assert refused.status == 400 and "gpt is a language model" in refused.json["error"]
    assert server.texts("a b")  # the translator, though the language model comes first


def test_a_token_is_asked_for(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    with running(folder, workers=1, token_file=tmp_path / "token") as server:
        with pytest.raises(openai.AuthenticationError) as refused:
            client_of(server, "wrong").models.list()
        assert refused.value.code == "invalid_api_key"
        assert client_of(server, "s3cret").completions.create(model="gpt", prompt="a").choices
        found = server.ask("POST", "/v1/translate", {"text": "a"}, Authorization="Bearer s3cret")
        assert found.status == 400 and "language models alone" in found.json["error"]


def test_overload_is_refused_at_once(slow_folder: Path) -> None:
    with running(slow_folder, workers=1, queue_tokens=1500) as server, ThreadPoolExecutor(12) as clients:
        client = client_of(server)

        def ask(number: int) -> str:
            try:
                found = client.completions.create(model="slow", prompt="a", max_tokens=400, stream=number % 2 == 1)
                return "stream" if number % 2 else found.choices[0].finish_reason
            except openai.RateLimitError as error:
                assert int(error.response.headers["retry-after"]) >= 1 and error.code == "rate_limit_exceeded"
                return "refused"

        assert set(clients.map(ask, range(36))) == {"stream", "length", "refused"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_has_gone_leaves_the_worker_free(slow_folder: Path, stream: bool) -> None:
    body = json.dumps(
        {"model": "slow", "prompt": ["a", "b"], "max_tokens": 10**6, "temperature": 0, "stream": stream}
    ).encode()
    lines = ["POST /v1/completions HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    request = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body
    with running(slow_folder, workers=1) as server:
        for _ in range(5):  # each would take hours
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(request)
                wait_until(lambda: server.measure("openwork_texts_under_way"))
            wait_until(lambda: not server.measure("openwork_texts_under_way") + server.measure("openwork_queue_texts"))
        reply = client_of(server).completions.create(model="slow", prompt="a", max_tokens=5)
        assert reply.choices[0].finish_reason == "length"


def test_a_killed_worker_loses_nothing(server: RunningServer, client: openai.OpenAI) -> None:
    asked: Any = {"model": "gpt", "prompt": PROMPTS, "seed": 4, "max_tokens": 60}
    expected = texts_of(client.completions.create(**asked))
    before = server.measure("openwork_restarts")
    with ThreadPoolExecutor(8) as clients:
        found = [clients.submit(client.completions.create, **asked) for _ in range(8)]
        for worker in server.processes()[1]:
            os.kill(worker, signal.SIGKILL)
        assert all(texts_of(one.result()) == expected for one in found)
    wait_until(lambda: server.measure("openwork_restarts") >= before + 2 and len(server.processes()[1]) == 2)


def test_the_description_has_the_bodies(server: RunningServer) -> None:
    described = server.ask("GET", "/openapi.json").json
    for path, asked, answer in (
        ("/v1/completions", "CompletionRequest", "CompletionAnswer"),
        ("/v1/chat/completions", "ChatRequest", "ChatAnswer"),
    ):
        route = described["paths"][path]["post"]
        schemas = [route["requestBody"]["content"], route["responses"]["200"]["content"]]
        references = [one["application/json"]["schema"]["$ref"].rpartition("/")[2] for one in schemas]
        assert references == [asked, answer]
        assert {"model", "temperature", "stop", "seed"} <= described["components"]["schemas"][asked][
            "properties"
        ].keys()
    assert "/v1/models" in described["paths"]


ANY_TEXT = st.text(max_size=20) | st.sampled_from(
    ["gpt", "tiny", "user", "a b", "\ud800", "\x00", "𝄞" * 9, "a" * 30_000]
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": ANY_JSON}), max_size=3
)
FIELDS = {
    "model": st.sampled_from(["gpt", "gpt", "tiny"]), "prompt": ANY_TEXT | ANY_JSON, "messages": MESSAGES | ANY_JSON,
}  # fmt: skip
OTHERS = ("max_tokens", "temperature", "top_p", "n", "stop", "seed", "stream", "stream_options", "logprobs", "\ud800")
BODIES = st.fixed_dictionaries(FIELDS, optional=dict.fromkeys(OTHERS, ANY_JSON))
ROUTES = st.sampled_from(["/v1/completions", "/v1/chat/completions", "/v1/models"])


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(ROUTES, BODIES | ANY_JSON | st.binary(max_size=40))
def test_no_request_is_a_fault_of_the_server(server: RunningServer, path: str, body: object) -> None:
    found = server.ask("POST", path, body)
    assert found.status < 500
    assert found.status == 200 or set(found.json["error"]) == {"message", "type", "param", "code"}
