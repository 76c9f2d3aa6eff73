"""Shape checks that are made once for each kind of call: those of jaxtyping take longer than what small models compute.

Whether a call passes follows from the kinds of its arguments and of its result: the type, shape and number type of a
tensor, the value of a string, the types of other things. So what has passed once needs no second check.
"""

import contextlib
import dataclasses
import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable, Hashable
from typing import Any

import jaxtyping

CHECKED = jaxtyping.jaxtyped
MOST_PARTS = 32  # of a container whose parts are looked at
MOST_KINDS = 1000  # of calls that are kept for a function: one that meets more begins anew


class NoKind(Exception):
    """A value of which a check does not look at all, such as a list of unlike parts: it is checked at each call."""


def _tensor(value: Any) -> Hashable:
    return type(value), value.dtype, value.shape


def _itself(value: Any) -> Hashable:
    return type(value), value


def _parts(value: Any) -> Hashable:
    """A tuple's parts are checked one by one."""
    if len(value) > MOST_PARTS:
        raise NoKind
    return type(value), tuple(map(kind, value))


def _like_parts(value: Any) -> Hashable:
    """Of other containers one part is checked, drawn at random."""
    if len(value) > MOST_PARTS:
        raise NoKind
    kinds = set(map(kind, value))
    if isinstance(value, dict):
        kinds = {(type(one), kind(other)) for one, other in value.items()}
    if len(kinds) > 1:
        raise NoKind
    return type(value), *kinds


def _reader(cls: type) -> Callable[[Any], Hashable]:
    """What tells values of this class apart."""
    if issubclass(cls, str | bool | types.NoneType | type):
        return _itself
    if hasattr(cls, "shape") and hasattr(cls, "dtype"):
        return _tensor
    if issubclass(cls, tuple):
        return _parts
    if issubclass(cls, list | dict | set | frozenset):
        return _like_parts
    return type


class _Readers(dict[type, Callable[[Any], Hashable]]):
    def __missing__(self, cls: type) -> Callable[[Any], Hashable]:
        self[cls] = _reader(cls)
        return self[cls]


READERS = _Readers()


def kind(value: Any) -> Hashable:
    """The same for two values that pass the same checks; NoKind if that cannot be told."""
    return READERS[type(value)](value)


def _is_exporting() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_exporting()


def _once(fn: Callable[..., Any], typechecker: Any) -> Callable[..., Any]:
    waiting = threading.local()  # a result that is there already and only to be checked

    def template(*args: Any, **kwargs: Any) -> Any:
        made = waiting.__dict__.pop("made", None)
        return fn(*args, **kwargs) if made is None else made[0]

    @functools.cache
    def checks() -> Callable[..., Any]:  # made at the first call: it takes a while, and most functions see none
        # With the names that the annotations of the function are read with.
        standing_for = types.FunctionType(template.__code__, fn.__globals__, fn.__name__, None, template.__closure__)
        return CHECKED(functools.update_wrapper(standing_for, fn), typechecker=typechecker)

    def checked(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if _is_exporting():  # sizes are symbols there, which stand for any size
            return fn(*args, **kwargs)
        return checks()(*args, **kwargs)

    passed: dict[Hashable, set[Hashable]] = {}

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:  # without `kind`: one call of Python less for each value of each call
            key: Hashable = tuple([READERS[type(value)](value) for value in args])
            if kwargs:
                key = key, *kwargs, *[READERS[type(value)](value) for value in kwargs.values()]
            results = passed.get(key)
        except (NoKind, TypeError):  # of a value that has no hash, such as a size that is a symbol
            return checked(*args, **kwargs)
        if results is None:
            result = checked(*args, **kwargs)
            if len(passed) == MOST_KINDS:
                passed.clear()
            results = passed[key] = set()
        else:
            result = fn(*args, **kwargs)
            try:
                if READERS[type(result)](result) in results:
                    return result
            except (NoKind, TypeError):
                pass
            if not _is_exporting():
                waiting.made = [result]
                checks()(*args, **kwargs)
        with contextlib.suppress(NoKind, TypeError):
            if len(results) < MOST_KINDS:
                results.add(kind(result))
        return result

    call.checks_shapes = True  # type: ignore[attr-defined]
    return call


def jaxtyped(fn: Any = None, *, typechecker: Any) -> Any:
    """In the place of `jaxtyping.jaxtyped`: functions, methods and dataclasses whose calls are checked."""
    if fn is None:
        return functools.partial(jaxtyped, typechecker=typechecker)
    if isinstance(fn, classmethod | staticmethod):
        return type(fn)(jaxtyped(fn.__func__, typechecker=typechecker))
    if inspect.isclass(fn):
        if dataclasses.is_dataclass(fn) and not hasattr(fn.__init__, "checks_shapes"):
            fn.__init__ = _once(fn.__init__, typechecker)
        return fn
    return _once(fn, typechecker) if inspect.isfunction(fn) else CHECKED(fn, typechecker=typechecker)
