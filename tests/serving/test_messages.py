"""Messages between processes come whole, in their order, and within a bound."""

import asyncio
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.serving import messages
from openwork.serving.messages import encoded, read, receive, send

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
).filter(lambda value: value is not None)


@given(st.lists(VALUES, max_size=4))
def test_what_is_sent_is_received(values: list[object]) -> None:
    here, there = socket.socketpair()
    with here, there:
        sender = threading.Thread(target=lambda: [send(here, value) for value in values] and None)
        sender.start()
        assert [receive(there) for _ in values] == values
        sender.join()
        here.close()
        assert receive(there) is None


def test_a_message_that_is_cut_short_is_the_end() -> None:
    here, there = socket.socketpair()
    with here, there:
        here.sendall(encoded({"texts": ["one"]})[:-3])
        here.close()
        assert receive(there) is None

    async def from_stream() -> object:
        stream = asyncio.StreamReader()
        stream.feed_data(encoded([1, 2]) + encoded({"a": "b"})[:-1])
        stream.feed_eof()
        return [await read(stream), await read(stream)]

    assert asyncio.run(from_stream()) == [[1, 2], None]


def test_a_message_beyond_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_BYTES", 10)
    here, there = socket.socketpair()
    with here, there:
        send(here, "more than ten bytes")
        with pytest.raises(ValueError, match="21 bytes"):
            receive(there)
