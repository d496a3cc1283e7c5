"""Connections of the lab: none is waited for longer than a client that means well needs, and their
number is bounded.

The server itself waits for ever for a request that comes byte by byte, and for a client that does
not read its answer. Each such connection holds a file, a place among the connections, and what was
not read of the answer. Here a request must be whole, and an answer must go on being read, within a
time. Where there are too many connections, one that asks nothing makes room.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..messages import encoded
from ..request_errors import RETRY_AFTER, parts

__all__ = ["Patience", "TimedConnection"]


@dataclass(frozen=True)
class Patience:
    """Seconds that a client has, and how many there may be.

    Attributes
    ----------
    request : float
        From the first byte of a request, or from the connection itself, to the last byte of its
        body.
    reading, answer : float
        How long nothing at all may be read of an answer, and how long some of it may be left to
        read.
    look : float
        Between two looks at a connection.
    connections : int
        At a time.
    """

    request: float = 20.0
    reading: float = 20.0
    answer: float = 120.0
    look: float = 1.0
    connections: int = 256


#: A request that was cut off is no news for the terminal.
_QUIET = logging.getLogger(f"{__name__}.quiet")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False
#: How long an answer may go on when the server stops.
LAST_WORDS = 0.5


class TimedConnection(H11Protocol):
    """One connection, looked at every second; `patience` is a class attribute, which the server's
    own settings replace.
    """

    patience = Patience()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.logger = _QUIET
        self._began = self._moved = self._emptied = self.loop.time()
        self._unsent = 0
        self._next_look: asyncio.TimerHandle | None = None

    @property
    def is_answering(self) -> bool:
        """Whether a request is under way."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def age(self) -> float:
        """Since when nothing was asked, as a key: connections that never asked anything first, then
        the longest at rest.
        """
        return float(self._began if self.cycle is not None else self._began - 1e9)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for another connection, or refuse it."""
        super().connection_made(transport)
        if len(self.connections) > self.patience.connections:
            at_rest = [
                other for other in self.connections if other is not self and _is_at_rest(other)
            ]
            if at_rest:
                min(at_rest, key=lambda other: other.age).transport.abort()
            else:
                self._refuse()
                return
        self._next_look = self.loop.call_later(self.patience.look, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        if self._next_look is not None:
            self._next_look.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The time of a request begins with its first byte."""
        if self._awaits_request and self.conn.trailing_data == (b"", False):
            self._began = self.loop.time()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """What came of the next request meanwhile has its full time."""
        self._began = self.loop.time()
        super().on_response_complete()

    def shutdown(self) -> None:
        """The server stops: what is still being answered, a stream of events say, ends soon."""
        super().shutdown()
        self.loop.call_later(LAST_WORDS, self.transport.abort)

    @property
    def _awaits_request(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _look(self) -> None:
        """Cut the connection off where its client takes too long."""
        now, unsent = self.loop.time(), self.transport.get_write_buffer_size()
        if not unsent or unsent != self._unsent:
            self._unsent, self._moved = unsent, now
        if not unsent:
            self._emptied = now
        is_late = self._waits_for_client and now - self._began > self.patience.request
        if (
            is_late
            or now - self._moved > self.patience.reading
            or now - self._emptied > self.patience.answer
        ):
            self.transport.abort()
            return
        self._next_look = self.loop.call_later(self.patience.look, self._look)

    @property
    def _waits_for_client(self) -> bool:
        """Whether a request has begun and is not whole; a connection that rests between two
        requests has a time of its own.
        """
        if self.conn.their_state is h11.SEND_BODY:
            return True
        return self._awaits_request and self.timeout_keep_alive_task is None

    def _refuse(self) -> None:
        body = encoded(
            {
                "error": parts(
                    "The lab has too many connections",
                    len(self.connections),
                    "wait a moment and try again",
                )
            }
        )
        head = [
            "HTTP/1.1 503 Service Unavailable",
            "content-type: application/json",
            f"content-length: {len(body)}",
            f"retry-after: {RETRY_AFTER}",
            "connection: close",
        ]
        self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
        self.transport.close()
        self.loop.call_later(self.patience.look, self.transport.abort)


def _is_at_rest(connection: TimedConnection) -> bool:
    return not connection.is_answering and not connection.transport.is_closing()
