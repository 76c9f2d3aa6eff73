"""Lazy imports: a package's public names are imported from their modules on first use."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_when_used(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a package with public names in these modules: name -> module.

    An empty module means that the name itself is a package. AttributeError for other names.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{places[name] or name}")
        value = getattr(module, name) if places[name] else module
        setattr(sys.modules[package], name, value)
        return value

    return get
