"""Who may ask: whoever shows the lab's token, or the cookie that was given for it.

Every user of the machine can open a connection to 127.0.0.1. The token stands in the address that
the lab prints; who opens it gets a cookie in return, and the token leaves the address. Programs
send ``Authorization: token ...``.
"""

from __future__ import annotations

import hmac
import re
import secrets
from urllib.parse import parse_qs

from ...errors import ModelError

__all__ = ["Access"]

_TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,200}")
_HEADER = re.compile(r"(?:token|bearer) +(\S+)", re.IGNORECASE)


class Access:
    """The token of a lab, and the cookie of its pages.

    The cookie is not the token: a browser sends it to every port of the address, and it is void
    when the lab ends, whereas a token may have been chosen for many times.

    Parameters
    ----------
    token : str, optional
        A random one unless given.

    Examples
    --------
    >>> access = Access("correct-horse-battery")
    >>> access.is_granted({"authorization": "token correct-horse-battery"}, 8350)
    True
    >>> access.is_granted({"authorization": "token another-horse-battery"}, 8350)
    False
    """

    def __init__(self, token: str | None = None) -> None:
        if token is not None and not _TOKEN.fullmatch(token):
            raise ModelError(
                "A token has 16 to 200 symbols, digits, points, dashes, underscores or tildes",
                f"{len(token)} characters",
                'make one with python -c "import secrets; print(secrets.token_urlsafe())"',
            )
        self.token = token if token is not None else secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)

    def is_granted(self, headers: dict[str, str], port: int | None) -> bool:
        """Whether a request shows the token or the cookie."""
        shown = _HEADER.fullmatch(headers.get("authorization", ""))
        if shown is not None and _is_same(shown[1], self.token):
            return True
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        own = [value for name, _, value in pairs if name == _cookie_name(port)]
        return any(_is_same(value, self._session) for value in own)

    def opens(self, query: bytes) -> bool:
        """Whether the query of an address carries the token."""
        shown = parse_qs(query.decode("latin-1")).get("token", [])
        return any(_is_same(value, self.token) for value in shown)

    def cookie(self, port: int | None) -> str:
        """The cookie that stands for the token from now on: out of reach of scripts and other
        sites.
        """
        return f"{_cookie_name(port)}={self._session}; Path=/; HttpOnly; SameSite=Strict"


def _cookie_name(port: int | None) -> str:
    """Labs on several ports share the cookies of one address."""
    return f"dalembert-lab-{port}"


def _is_same(shown: str, secret: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "replace"), secret.encode())
