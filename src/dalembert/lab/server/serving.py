"""The lab on a port of this machine."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

from ...errors import MissingExtraError, ModelError, RunError
from ..limits import Limits

__all__ = ["DEFAULT_PORT", "serve"]

DEFAULT_PORT = 8350
HOST = "127.0.0.1"
#: Ports that are tried where none was asked for.
TRIED = 20


def serve(
    folder: Path | str = ".",
    port: int | None = None,
    *,
    workers: int = 2,
    limits: Limits | None = None,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the lab on 127.0.0.1 until Ctrl-C.

    Parameters
    ----------
    folder : path
        Where model files are listed, opened and saved; or a model file in such a folder, with
        which the page opens.
    port : int, optional
        8350, or the first free one after it, unless given.
    workers : int
        Processes that make runs.
    limits : Limits, optional
    token : str, optional
        What requests have to show, as Jupyter's do; a random one unless given.
    ready : callable
        Called with the address, token included, when requests are accepted.

    Raises
    ------
    MissingExtraError
        Where the extra `lab` is not installed.
    RunError
        Where the port is taken, or the application does not start.
    """
    try:
        import uvicorn
    except ImportError as missing:
        raise MissingExtraError("uvicorn", "lab") from missing
    from .http_connections import TimedConnection
    from .web_app import create_app

    app = create_app(folder, workers, limits, token=token)
    listener = _listener(port)
    address = f"http://{HOST}:{listener.getsockname()[1]}/?token={app.state.token}"
    # What the server says of requests that were cut off, or of an end that was hurried, is no news
    # for a terminal.
    level = "warning" if os.environ.get("DALEMBERT_DEBUG") else "critical"
    config = uvicorn.Config(
        app, log_level=level, access_log=False, lifespan="on", server_header=False,
        date_header=True, http=TimedConnection, timeout_keep_alive=20, timeout_graceful_shutdown=1,
        ws="none",
    )  # fmt: skip
    with listener:
        if ready is not None:
            ready(address)
        server = uvicorn.Server(config)
        server.run(sockets=[listener])
    if not server.started:
        raise RunError("The lab could not be started", remedy="set DALEMBERT_DEBUG=1 to see why")


def _listener(port: int | None) -> socket.socket:
    """A socket that listens on the loopback address."""
    if port is not None and not 0 <= port <= 65535:
        raise ModelError("A port is a number up to 65535", port, f"choose {DEFAULT_PORT}")
    for candidate in range(DEFAULT_PORT, DEFAULT_PORT + TRIED) if port is None else [port]:
        # With the protocol named, connections are sent to without delay.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, candidate))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            if port is not None:
                reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
                raise RunError(
                    f"The port {port} cannot be used", reason, "choose another with --port"
                ) from error
    raise RunError(
        f"No port from {DEFAULT_PORT} to {DEFAULT_PORT + TRIED - 1} is free",
        remedy="choose one with --port",
    )
