"""A plain server of CTranslate2, for benchmarks/load.py: FOLDER BEAM WORKERS; writes its port, then serves.

FOLDER is what `openwork export --to ct2` wrote. Requests and answers have the form of openwork's /v1/translate. What
waits when a translator is free makes its next batch, as in `openwork serve`, and tokenizers are openwork's.
"""

import asyncio
import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ctranslate2
import uvicorn

from openwork.interop.vocabulary import token_names
from openwork.text.pair import TokenizerPair

MOST_TEXTS = 64  # of a batch
LONGEST = 256  # tokens of a translation


class Server:
    """The translator with its threads, and the texts that wait."""

    def __init__(self, folder: Path, beam: int, workers: int) -> None:
        self.translator = ctranslate2.Translator(str(folder), inter_threads=workers, intra_threads=1)
        self.beam, self.workers = beam, workers
        self.tokenizers = TokenizerPair.load(folder, None)
        self.names = token_names(self.tokenizers.source)
        self.ids = {name: place for place, name in enumerate(token_names(self.tokenizers.target))}
        self.threads = ThreadPoolExecutor(workers)
        self.waiting: asyncio.Queue[tuple[str, asyncio.Future[str]]] = asyncio.Queue()

    def translate(self, texts: list[str]) -> list[str]:
        encoded = self.tokenizers.encode_sources(texts)
        found = self.translator.translate_batch(
            [[self.names[one] for one in ids] for ids, _ in encoded],
            beam_size=self.beam, length_penalty=1.0, max_decoding_length=LONGEST, max_batch_size=MOST_TEXTS,
        )  # fmt: skip
        ids = [[self.ids[name] for name in one.hypotheses[0]] for one in found]
        return [self.tokenizers.decode_target(one, spans).text for one, (_, spans) in zip(ids, encoded, strict=True)]

    async def work(self) -> None:
        """One of so many as there are translators: takes what waits."""
        while True:
            batch = [await self.waiting.get()]
            while len(batch) < MOST_TEXTS and not self.waiting.empty():
                batch.append(self.waiting.get_nowait())
            texts = [text for text, _ in batch]
            found = await asyncio.get_running_loop().run_in_executor(self.threads, self.translate, texts)
            for (_, future), text in zip(batch, found, strict=True):
                future.set_result(text)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait((json.loads(body)["text"], future))
        answer = json.dumps({"translations": [{"text": await future}]}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


async def main() -> None:
    server = Server(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    workers = [asyncio.ensure_future(server.work()) for _ in range(server.workers)]
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `openwork serve`: no part waits
        print(listening.getsockname()[1], flush=True)
        config = uvicorn.Config(server, log_level="warning", access_log=False, lifespan="off")
        await uvicorn.Server(config).serve([listening])
    assert not any(one.done() for one in workers)


if __name__ == "__main__":
    asyncio.run(main())
