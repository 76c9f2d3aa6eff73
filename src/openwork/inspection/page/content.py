"""Scripts and data inside a page: what the page's rule allows to run, and data that cannot end its element."""

import base64
import hashlib
import json
from typing import Any

from openwork.base.pages import isolated, translator


def script_hash(script: str) -> str:
    """How a Content-Security-Policy names the one script that may run: "sha256-..." of its text in UTF-8."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def script_text(content: dict[str, Any]) -> str:
    """JSON that stands safely between <script> and </script>: it has no <, > or &.

    Raises:
        ValueError: a number is infinite or not a number, which JSON does not know.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def in_both_languages(sentence: str) -> dict[str, str]:
    """A sentence of the catalogue, or any other text, in each language of the page; isolated if from right to left."""
    return {language: isolated(translator(language)(sentence)) if sentence else "" for language in ("en", "zh")}
