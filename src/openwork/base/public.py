"""Public names of a package, each imported from its module when it is first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_when_used(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose public names stand in these modules of it: name -> module.

    An empty module means that the name is a package itself. AttributeError for other names.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{places[name] or name}")
        value = getattr(module, name) if places[name] else module
        setattr(sys.modules[package], name, value)
        return value

    return get
