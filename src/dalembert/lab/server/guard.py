"""Who may ask: requests to the loopback address itself, from its own page, with the token, of
bounded size.

A page of another site can send requests to 127.0.0.1 from the browser of whoever looks at it, and
can make a name of its own point there. The name in `Host`, the page in `Origin`, and JSON as the
only kind of body keep both out. Another user of the machine can send any header, but does not know
the token (`access`).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ..messages import encoded
from ..request_errors import RequestError
from .access import Access

__all__ = ["Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CHANGING = ("POST", "PUT", "DELETE")
#: A body must have come within this time.
BODY_SECONDS = 15.0
KNOWN = ("GET", "HEAD", *CHANGING)
#: On every answer. Neither scripts nor styles stand in the text of the page: its script sets styles
#: through the object model.
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_HEADERS = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
#: Headers that decide, and so may come only once.
_DECIDING = ("host", "origin", "content-type", "sec-fetch-site", "authorization", "cookie")
#: Leads to the page once more, now from the lab itself: browsers send its cookie only then. The
#: state behind `#` goes along.
_SCRIPT = b'location.replace("/?" + location.hash)'
AGAIN = (
    b"<!doctype html><meta charset=utf-8><title>dalembert lab</title><script>"
    + _SCRIPT
    + b"</script>"
)
_AGAIN_POLICY = (
    b"default-src 'none'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none';"
    b" frame-ancestors 'none'" % (base64.b64encode(hashlib.sha256(_SCRIPT).digest()))
)
CLOSED = (
    b"<!doctype html><meta charset=utf-8><title>dalembert lab</title><p>The lab asks for its token."
    b" Open the address that <code>dalembert lab</code> printed when it was started.</p>"
)


class Guard:
    """An application behind the checks; it also bounds bodies and adds the headers of every
    answer.
    """

    def __init__(self, app: Application, body_bytes: int, access: Access) -> None:
        self.app, self.body_bytes, self.access = app, body_bytes, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSockets
            await send({"type": "websocket.close", "code": 1008})
            return

        begun = False

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                own = {key.lower() for key, _ in message.get("headers", [])}
                message["headers"] = [
                    *message.get("headers", []),
                    *(pair for pair in _HEADERS if pair[0] not in own),
                ]
            await send(message)

        try:
            headers = _single(scope)
            self._check(scope, headers)
            if await self._has_entered(scope, headers, with_headers):
                return
            _check_change(scope, headers)
            received = await self._bounded(scope, receive)
        except RequestError as refused:
            await _refuse(refused, with_headers)
            return
        try:
            await self.app(scope, received, with_headers)
        except Exception:
            logging.getLogger(__name__).exception("A request failed")
            if not begun:
                what = "This is a fault of dalembert itself"
                await _refuse(RequestError(500, what, remedy="please report it"), with_headers)

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse what another page could have sent."""
        hosts = own_hosts(_port(scope))
        host = headers.get("host", "")
        if host.lower() not in hosts:
            raise RequestError(
                403,
                "The lab answers to its own address only",
                seen=host[:80],
                remedy="open 127.0.0.1",
            )
        if not (scope.get("query_string", b"") + scope.get("raw_path", b"")).isascii():
            remedy = "write other characters as %XX"
            raise RequestError(
                400,
                "An address is made of ASCII characters",
                seen=repr(scope["path"])[:80],
                remedy=remedy,
            )
        if scope["method"] not in KNOWN:
            raise RequestError(405, f"The lab has no method {scope['method'][:20]}")
        if _is_foreign(headers) and not _is_visit(scope, headers):
            raise RequestError(
                403, "The lab answers to its own page only", seen=headers["sec-fetch-site"][:20]
            )

    async def _has_entered(self, scope: Scope, headers: dict[str, str], send: Send) -> bool:
        """Whether a request was answered at the door: a visit that shows the token, or comes from
        elsewhere.

        Raises
        ------
        RequestError
            Where there is neither the token nor the cookie.
        """
        port = _port(scope)
        is_page = scope["path"] == "/" and scope["method"] in ("GET", "HEAD")
        shows_token = is_page and self.access.opens(scope.get("query_string", b""))
        if not shows_token and self.access.is_granted(headers, port):
            return False
        more = [(b"set-cookie", self.access.cookie(port).encode())] if shows_token else []
        if is_page and _is_foreign(headers):
            await _page(200, AGAIN, [*more, (b"content-security-policy", _AGAIN_POLICY)], send)
        elif shows_token:
            await _page(303, b"", [*more, (b"location", b"/")], send)
        elif is_page and "text/html" in headers.get("accept", ""):
            await _page(401, CLOSED, [(b"www-authenticate", b"token")], send)
        else:
            remedy = (
                "open the address that the lab printed, or send the header `Authorization: token"
                " ...`"
            )
            raise RequestError(401, "The lab asks for its token", remedy=remedy)
        return True

    async def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The whole body, read before anything is done with it; then whatever comes, which is the
        end of the connection.
        """
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await self._body(receive) if scope["method"] in CHANGING else b""
        except TimeoutError as error:
            raise RequestError(408, "The request did not come to its end") from error
        given = False

        async def received() -> MutableMapping[str, Any]:
            nonlocal given
            if given or scope["method"] not in CHANGING:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return received

    async def _body(self, receive: Receive) -> bytes:
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise RequestError(400, "The request ended early")
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.body_bytes:
                raise RequestError(
                    413,
                    f"A request has at most {self.body_bytes} bytes",
                    remedy="shorten the model",
                )
        return bytes(body)


def _check_change(scope: Scope, headers: dict[str, str]) -> None:
    """Refuse a change that does not come from the page, or is not JSON."""
    if scope["method"] not in CHANGING:
        return
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {
        f"http://{own}" for own in own_hosts(_port(scope))
    }:
        raise RequestError(403, "The lab answers to its own page only", seen=origin[:80])
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        seen = headers.get("content-type", "nothing")[:60]
        raise RequestError(400, "The Content-Type must be application/json", seen=seen)


def _port(scope: Scope) -> int | None:
    found: int | None = (scope.get("server") or ("127.0.0.1", None))[1]
    return found


def own_hosts(port: int | None) -> set[str]:
    """What `Host` may say.

    >>> sorted(own_hosts(8350))
    ['127.0.0.1:8350', '[::1]:8350', 'localhost:8350']
    """
    names = ("127.0.0.1", "localhost", "[::1]")
    return {*(f"{name}:{port}" for name in names), *(names if port == 80 else ())}


def _single(scope: Scope) -> dict[str, str]:
    """Headers by name; one that decides and comes twice is refused."""
    found: dict[str, str] = {}
    for key, value in scope["headers"]:
        name = key.decode("latin-1").lower()
        if name in found and name in _DECIDING:
            raise RequestError(400, f"The header {name} comes twice")
        found[name] = value.decode("latin-1")
    return found


def _is_foreign(headers: dict[str, str]) -> bool:
    """Whether the browser says that another page, or a file, is behind a request."""
    return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


def _is_visit(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether someone followed a link from elsewhere to the page itself."""
    is_page = scope["path"] == "/" and scope["method"] not in CHANGING
    return is_page and headers.get("sec-fetch-mode") == "navigate"


async def _refuse(refused: RequestError, send: Send) -> None:
    more = [(b"connection", b"close")]
    await _sent(refused.status, encoded(refused.body), b"application/json", more, send)


async def _page(status: int, content: bytes, more: list[tuple[bytes, bytes]], send: Send) -> None:
    """A page of the guard itself, which nobody keeps."""
    more = [*more, (b"cache-control", b"no-store")]
    await _sent(status, content, b"text/html; charset=utf-8", more, send)


async def _sent(
    status: int, content: bytes, kind: bytes, more: list[tuple[bytes, bytes]], send: Send
) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
