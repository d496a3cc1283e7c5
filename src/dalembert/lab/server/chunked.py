"""Answers in chunks: of a large answer that nobody reads, the server holds one chunk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["InPieces"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
#: Bytes of a piece.
PIECE = 256 * 1024


class InPieces:
    """An application whose bodies are sent chunk by chunk, each after the one before."""

    def __init__(self, app: Callable[[Message, Receive, Send], Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def in_pieces(message: Message) -> None:
            body = message.get("body", b"") if message["type"] == "http.response.body" else b""
            if len(body) <= PIECE:
                await send(message)
                return
            for first in range(0, len(body), PIECE):
                is_last = first + PIECE >= len(body)
                more = not is_last or bool(message.get("more_body", False))
                part = body[first : first + PIECE]
                await send({"type": message["type"], "body": part, "more_body": more})

        await self.app(scope, receive, in_pieces)
