"""Lazy imports: a package's public names are imported from their modules on first use."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_when_used(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a package with these public names: module -> its names, with spaces between.

    Those of the empty module are packages themselves. AttributeError for other names.
    """
    places = {name: module for module, group in names.items() for name in group.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{places[name] or name}")
        value = getattr(module, name) if places[name] else module
        setattr(sys.modules[package], name, value)
        return value

    return get
