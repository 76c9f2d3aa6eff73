"""What a worker answers to /v1/attention. No HTTP here."""

from collections.abc import Callable, Mapping
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.asking import AttentionQuestion, ask_attention
from openwork.inference.attention_maps.removal import HeadName
from openwork.inference.translation import Translation


class _NobodyWaitsError(Exception):
    """The client of the request has gone."""


def attention_answer(
    bundle: Bundle, text: str, own: Translation, asked: Mapping[str, Any], is_given_up: Callable[[], bool]
) -> dict[str, Any]:
    """The weights of each head and what else was asked of them.

    {"failed": a sentence} where they cannot be shown, and nothing where the request is given up.

    `own`: the bundle's best translation, whose pieces are those that the search found. `asked`: `AttentionOptions`.
    Flows, which take long, are calculated with `why` alone.
    """

    def go_on_unless_given_up() -> None:
        if is_given_up():
            raise _NobodyWaitsError

    given, why, without = asked["translation"], asked["why"], asked["without"]
    try:
        question = AttentionQuestion(
            own if given is None else given, why=why, flow=why, without=HeadName.read(without) if without else None
        )
        return ask_attention(bundle, text, question, go_on_unless_given_up).to_json()
    except _NobodyWaitsError:
        return {}
    except OpenworkError as error:
        return {"failed": error.sentence}
