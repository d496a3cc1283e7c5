"""The lab as an application: its addresses behind the guard, and every refusal as JSON."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FileError, MissingExtraError
from ...model.names import shortened
from ..limits import Limits
from ..request_errors import RequestError
from .access import Access
from .chunked import InPieces
from .folder import is_file_name
from .guard import Guard

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["create_app"]


def create_app(
    folder: Path | str = ".",
    workers: int = 2,
    limits: Limits | None = None,
    *,
    token: str | None = None,
) -> FastAPI:
    """The lab as an ASGI application.

    Parameters
    ----------
    folder : path
        Where model files are listed, opened and saved; or a model file in such a folder, with
        which the page opens. Meshes and files that a robot file includes are then read from its
        folder.
    workers : int
        Processes that make runs; there is one more for quick questions.
    limits : Limits
    token : str, optional
        What requests have to show; a random one unless given.

    Returns
    -------
    FastAPI
        Which starts its workers when it is started, and ends them with it. Its ``state.token`` is
        the token.

    Raises
    ------
    MissingExtraError
        Where the extra `lab` is not installed.
    """
    try:
        from fastapi import FastAPI
        from starlette.exceptions import HTTPException
    except ImportError as missing:
        raise MissingExtraError("fastapi", "lab") from missing
    if find_spec("latex2mathml") is None:
        raise MissingExtraError("latex2mathml", "lab")
    from .handlers import Lab, refused, unknown

    place = Path(folder)
    opened = None if place.is_dir() else _file_name(place)
    where = place if opened is None else place.parent
    lab = Lab(where, max(1, workers), limits or Limits(), opened)
    app = FastAPI(
        title="dalembert lab", openapi_url=None, docs_url=None, redoc_url=None, lifespan=lab.running
    )
    app.add_middleware(InPieces)
    access = Access(token)
    app.state.token = access.token
    app.add_middleware(Guard, body_bytes=lab.limits.body_bytes, access=access)
    app.add_exception_handler(RequestError, refused)
    app.add_exception_handler(HTTPException, unknown)
    for method, path, handler in lab.routes:
        app.add_api_route(path, handler, methods=[method], response_model=None)
    return app


def _file_name(path: Path) -> str:
    """The name of the model file with which the page opens."""
    shown = shortened(str(path), 100)
    if not path.exists():
        raise FileError(f"There is no folder or model file {shown}", remedy="name one that exists")
    if path.is_symlink() or not path.is_file():
        raise FileError(f"{shown} is not a plain file", remedy="name the file itself")
    if not is_file_name(path.name):
        raise FileError(
            "The lab opens TOML, URDF and MJCF files",
            seen=shortened(path.name),
            remedy="name a file that ends in .toml, .urdf, .mjcf or .xml",
        )
    return path.name
