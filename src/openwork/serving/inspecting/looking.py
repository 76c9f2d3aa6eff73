"""What a worker answers to a request for attention."""

from collections.abc import Mapping
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.attribution import MOST_EXPLAINED
from openwork.inference.attention_maps.capture import MOST_PIECES, capture
from openwork.inference.attention_maps.deletion import reasons
from openwork.inference.attention_maps.facts import head_facts
from openwork.inference.attention_maps.flow import through_layers
from openwork.inference.attention_maps.removal import HeadName, translate_without
from openwork.inference.translation import Translation


def looked(bundle: Bundle, text: str, own: Translation, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What each head attends to, and what else was asked of it; {"failed": a sentence} where that cannot be shown.

    `own`: the bundle's best translation, whose pieces are those that the search found. `asked`: `TranslationOptions`.
    Flows, which take the longest, are calculated with `why` alone.
    """
    try:
        given, is_explained = asked["given"], asked["why"]
        found = capture(bundle, text, own if given is None else given, MOST_EXPLAINED if is_explained else MOST_PIECES)
        through = through_layers(found, with_flow=is_explained)
        answer = found.to_json()
        answer["facts"] = [one.to_json() for one in head_facts(found.maps)]
        answer["through_layers"] = None if through is None else through.to_json()
        if name := asked["without"]:
            other = translate_without(bundle, text, HeadName.read(name))
            answer["without"] = {"head": name, "translation": other.text}
        return answer | (reasons(bundle, found).to_json() if is_explained else {})
    except OpenworkError as error:
        return {"failed": f"{error.what}; {error.why}" if error.why else error.what}
