"""A translator on a server, with the interface of one in memory."""

from collections.abc import Iterable, Sequence
from typing import Any

from openwork.api.texts import like, many
from openwork.serving.client import ServerClient


class RemoteTranslator:
    """A translator that a server of `openwork serve` has in memory."""

    def __init__(self, client: ServerClient) -> None:
        self._client = client

    def translate(self, text: str | Iterable[str], *, best: int = 1, required: Sequence[str] = ()) -> Any:
        """Translates a text as `Translator.translate` does; several texts give a list.

        With `best` above 1 each text has a list. `required` texts occur in each translation. A full server is asked
        again until it has room. UsageError for what the server refuses, OpenworkError where it is not reached.
        """
        found = self._client.translate(many(text), best, required)
        return like(text, [one if best > 1 else one[0] for one in found])

    def __repr__(self) -> str:
        return f"RemoteTranslator({self._client.url!r})"


def connect(
    url: str,
    *,
    token: str = "",
    source: str | None = None,
    target: str | None = None,
    bundle: str | None = None,
) -> RemoteTranslator:
    """The translator of a server; nothing is loaded here.

    Args:
        url: where `openwork serve` listens, such as "http://127.0.0.1:5000".
        token: what the server asks for.
        source: language of the texts, where the server has several bundles.
        target: language of the translations.
        bundle: name of a bundle, in place of languages.
    """
    return RemoteTranslator(ServerClient(url, token=token, source=source, target=target, bundle=bundle))
