"""What each address of the lab answers; workers compute (`worker_handlers`)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from ..._version import __version__
from ..limits import Limits
from ..packed_columns import unpacked_json
from ..request_errors import RequestError, retry_headers
from ..workers.pool import Pool
from ..workers.process import CANCELLED, Answer, WorkerProcess
from .cases import (
    read_body,
    read_case,
    read_frames,
    read_label,
    read_modified,
    read_place,
    read_points,
    read_study,
    read_text,
)
from .folder import ModelFolder
from .page_files import PageFiles
from .runs import LabRun, Runs

__all__ = ["Lab", "refused", "unknown"]

DOWNLOADS = {
    "csv": "text/csv; charset=utf-8",
    "nc": "application/x-netcdf",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "gif": "image/gif",
    "html": "text/html; charset=utf-8",
    "ipynb": "application/x-ipynb+json",
    "toml": "application/toml",
    "py": "text/x-python; charset=utf-8",
}


class Lab:
    """The state of a lab, and its handlers by address."""

    def __init__(
        self, folder: Path, workers: int, limits: Limits, opened: str | None = None
    ) -> None:
        self.limits, self.workers, self.opened = limits, workers, opened
        self.files = ModelFolder(folder, limits.text_bytes)
        self.page_files = PageFiles()
        self.pool: Pool
        self.runs: Runs
        self._gallery: asyncio.Task[list[dict[str, Any]]] | None = None

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        """While the server runs, so do the workers."""
        folder = None if self.opened is None else self.files.folder
        self.pool = Pool(self.workers, self.limits, folder=folder)
        self.runs = Runs(self.pool, self.limits)
        self.pool.open()
        over = asyncio.create_task(self.runs.watch_over())
        try:
            yield
        finally:
            tasks = [over, *([self._gallery] if self._gallery is not None else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.runs.close()
            await self.pool.close()

    @property
    def routes(self) -> list[tuple[str, str, Any]]:
        """Method, address and handler."""
        return [
            ("GET", "/", self.page),
            ("GET", "/favicon.ico", self.icon),
            ("GET", "/page/{name}", self.page_file),
            ("GET", "/api/about", self.about),
            ("GET", "/api/gallery", self.gallery),
            ("GET", "/api/gallery/{name}", self.built_in),
            ("GET", "/api/files", self.list_files),
            ("GET", "/api/files/{name}", self.read_file),
            ("PUT", "/api/files/{name}", self.save_file),
            ("POST", "/api/check", self.check),
            ("POST", "/api/start", self.start),
            ("POST", "/api/equations", self.equations),
            ("POST", "/api/place", self.place),
            ("POST", "/api/portrait", self.portrait),
            ("POST", "/api/study", self.study),
            ("POST", "/api/runs", self.begin_run),
            ("GET", "/api/runs/{id}", self.run_state),
            ("DELETE", "/api/runs/{id}", self.cancel_run),
            ("GET", "/api/runs/{id}/events", self.run_events),
            ("GET", "/api/runs/{id}/result", self.run_result),
            ("GET", "/api/runs/{id}/download", self.download),
        ]

    # -- the page ----------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return self._sent(request, "index.html")

    async def page_file(self, request: Request, name: str) -> Response:
        """A file that the page consists of."""
        return self._sent(request, name)

    async def icon(self, request: Request) -> Response:
        """What browsers ask for without being told to."""
        return self._sent(request, "icon.svg")

    def _sent(self, request: Request, name: str) -> Response:
        found = self.page_files.get(name)
        if found is None:
            raise RequestError(404, "The page has no such file", seen=name[:80])
        headers = {"etag": found.etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == found.etag:
            return Response(status_code=304, headers=headers)
        return Response(found.content, media_type=found.media_type, headers=headers)

    async def about(self) -> Response:
        """Version, limits, and how workers are confined once one has started."""
        confinement = next((w.confinement for w in self._processes() if w.confinement), None)
        found: dict[str, Any] = {"version": __version__, "workers": self.workers}
        found["folder"] = self.files.name
        found |= {"confinement": confinement, "opened": self.opened}
        return JSONResponse(found | {"limits": asdict(self.limits)})

    def _processes(self) -> list[WorkerProcess]:
        """The worker processes; none before the server has started."""
        return self.pool.workers if hasattr(self, "pool") else []

    # -- models ------------------------------------------------------------------------------------

    async def gallery(self) -> Response:
        """The built-in systems without their texts."""
        systems = [
            {key: value for key, value in entry.items() if key != "text"}
            for entry in await self._systems()
        ]
        return JSONResponse({"systems": systems})

    async def built_in(self, name: str) -> Response:
        """A built-in system with its text."""
        for entry in await self._systems():
            if entry["name"] == name:
                return JSONResponse(
                    {key: entry[key] for key in ("name", "title", "source", "text")}
                )
        raise RequestError(404, "The gallery has no system of that name", seen=name[:80])

    async def _systems(self) -> list[dict[str, Any]]:
        """The list, made once; where that failed, again."""
        task = self._gallery
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._gallery = asyncio.create_task(self._read_gallery())
        return await asyncio.shield(task)

    async def _read_gallery(self) -> list[dict[str, Any]]:
        answer = await self.pool.ask("gallery", {}, self.limits.run_seconds)
        if answer.status != 200:
            raise RequestError.of(answer.value["error"], answer.status)
        return list(answer.value["systems"])

    async def list_files(self) -> Response:
        """The model files of the folder."""
        return JSONResponse({"files": await asyncio.to_thread(self.files.listed)})

    async def read_file(self, name: str) -> Response:
        """A model file."""
        return JSONResponse(await asyncio.to_thread(self.files.read, name))

    async def save_file(self, request: Request, name: str) -> Response:
        """Save a model file, if it is one; a draft may be anything."""
        body = read_body(await request.body())
        text, modified = read_text(body.get("text"), self.limits), read_modified(body)
        if body.get("draft") is not True:
            case = read_case({"text": text}, self.limits)
            answer = await self.pool.ask(
                "read", case, self.limits.check_seconds, model=identity(case), quick=True
            )
            if answer.status != 200:
                return _response(answer)
        return JSONResponse(await asyncio.to_thread(self.files.write, name, text, modified))

    # -- questions ---------------------------------------------------------------------------------

    async def check(self, request: Request) -> Response:
        """What a model is, or its fault."""
        case = read_case(read_body(await request.body()), self.limits)
        return await self._ask(request, "check", case, self.limits.check_seconds, quick=True)

    async def start(self, request: Request) -> Response:
        """The consistent start."""
        case = read_case(read_body(await request.body()), self.limits)
        return await self._ask(request, "start", case, self.limits.check_seconds, quick=True)

    async def equations(self, request: Request) -> Response:
        """The equations of motion in a form, explicit if asked."""
        body = read_body(await request.body())
        case = read_case(body, self.limits) | {"explicit": body.get("explicit") is True}
        return await self._ask(request, "equations", case, self.limits.equations_seconds)

    async def portrait(self, request: Request) -> Response:
        """Orbits in a plane."""
        body = read_body(await request.body())
        case = read_case(body, self.limits) | read_points(body, self.limits)
        return await self._ask(request, "portrait", case, self.limits.equations_seconds)

    async def place(self, request: Request) -> Response:
        """The start at which a point of the drawing is where it is dragged to."""
        body = read_body(await request.body())
        case = read_case(body, self.limits) | read_place(body)
        return await self._ask(request, "place", case, self.limits.check_seconds)

    async def study(self, request: Request) -> Response:
        """A few points of a sweep, a bifurcation diagram or a map."""
        body = read_body(await request.body())
        case = read_case(body, self.limits) | read_study(body, self.limits)
        return await self._ask(request, "study", case, self.limits.equations_seconds)

    async def _ask(
        self, request: Request, kind: str, case: dict[str, Any], seconds: float, quick: bool = False
    ) -> Response:
        """The answer of a worker, as it is."""
        return _response(await self._watched(request, kind, case, seconds, quick))

    async def _watched(
        self, request: Request, kind: str, case: dict[str, Any], seconds: float, quick: bool = False
    ) -> Answer:
        """The answer of a worker; the question of someone who has gone leaves the queue."""
        asked = asyncio.create_task(
            self.pool.ask(kind, case, seconds, model=identity(case), quick=quick)
        )
        gone = asyncio.create_task(_gone(request))
        try:
            await asyncio.wait([asked, gone], return_when=asyncio.FIRST_COMPLETED)
            return asked.result() if asked.done() else CANCELLED
        finally:
            gone.cancel()
            asked.cancel()

    # -- runs --------------------------------------------------------------------------------------

    async def begin_run(self, request: Request) -> Response:
        """Put a run into the queue; with "wait" the answer is the result, if it is there soon."""
        body = read_body(await request.body())
        case = read_case(body, self.limits) | {
            "frames": read_frames(body, self.limits),
            "steps": self.limits.steps,
            "integrals": body.get("integrals") is not False,
            "packed": body.get("packed") is True,
        }
        run = self.runs.begin(case, identity(case), read_label(body))
        if body.get("wait") is True and await self.runs.ends_soon(run) and run.status == "done":
            return await self.run_result(run.id)
        return JSONResponse({"id": run.id}, 202)

    async def run_state(self, id: str) -> Response:
        """How a run stands."""
        return JSONResponse(self.runs.get(id).summary)

    async def cancel_run(self, id: str) -> Response:
        """Stop a run."""
        run = self.runs.get(id)
        await self.runs.cancel(run)
        return JSONResponse({"status": run.status})

    async def run_events(self, id: str) -> Response:
        """What happens to a run, as it happens."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(
            self.runs.events(self.runs.get(id)), media_type="text/event-stream", headers=headers
        )

    async def run_result(self, id: str) -> Response:
        """The result of a run, as the worker wrote it."""
        run = _done(self.runs.get(id))
        run.was_sent = True
        return Response(run.result, media_type="application/json")

    async def download(self, request: Request, id: str, format: str = "csv") -> Response:
        """A run as a file; formats other than JSON are made by a worker, if possible one that still
        has the motion.
        """
        run = _done(self.runs.get(id))
        if format not in DOWNLOADS:
            raise RequestError(
                400,
                "There is no such format",
                seen=format[:20],
                remedy=f"ask for {', '.join(DOWNLOADS)}",
            )
        content, stem = run.result, "run"
        if format == "json" and run.case.get("packed"):
            content = unpacked_json(run.result)
        if format != "json":
            case = run.case | {"id": run.id, "label": run.label, "format": format}
            answer = await self._watched(request, "download", case, self.limits.run_seconds)
            if answer.status != 200:
                return _response(answer)
            content, stem = base64.b64decode(answer.value["content"]), str(answer.value["name"])
        headers = {
            "content-disposition": f'attachment; filename="{stem}.{format}"',
            "cache-control": "no-store",
        }
        return Response(content, media_type=DOWNLOADS[format], headers=headers)


def identity(case: dict[str, Any]) -> str:
    """What tells the models of requests apart."""
    return hashlib.sha256(
        repr((case.get("system"), case.get("text"))).encode("utf-8", "replace")
    ).hexdigest()[:16]


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _response(answer: Answer) -> Response:
    return Response(
        answer.content, answer.status, retry_headers(answer.status), media_type="application/json"
    )


def _done(run: LabRun) -> LabRun:
    if run.status != "done":
        raise RequestError(
            409, "The run has no result", seen=run.status, remedy="wait until it is done"
        )
    return run


async def refused(_: Request, error: RequestError) -> Response:
    """What the lab refuses."""
    return JSONResponse(error.body, error.status, retry_headers(error.status))


async def unknown(_: Request, error: HTTPException) -> Response:
    """What FastAPI itself refuses."""
    what = {
        404: "The lab has nothing at this address",
        405: "The lab does not do this at this address",
    }
    status = int(error.status_code)
    return JSONResponse(
        RequestError(status, what.get(status, "The lab cannot answer this")).body, status
    )
