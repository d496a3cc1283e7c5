"""What is disturbed: everything that writes files, on systems so small that it takes a fraction of
a second.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image

import dalembert as da
from dalembert.model.io.atomic_file import PREFIX
from dalembert.model.io.files import loads

from .fault_children import Board

PENDULUM = """\
name = "Pendulum"
coordinates = ["theta"]
kinetic = "m*l**2*theta_dot**2/2"
potential = "-m*g*l*cos(theta)"
parameters = {m = 1.0, l = 0.5, g = 9.81}
start = {theta = 0.3}
simulate = {t = [0, 1]}
"""
GRID = {"m": np.linspace(0.5, 2.0, 6), "theta": np.linspace(0.1, 1.2, 8)}
CHUNK = 4


@cache
def motion() -> da.Motion:
    """A short motion with a constraint."""
    return da.simulate(da.gallery.load("chaplygin-sleigh"), span=(0, 1))


@cache
def scenario() -> Any:
    """A model as text gives it."""
    return loads(PENDULUM)


def swept(
    store: Path | None, resume: bool = False, progress: Callable[[float, float], None] | None = None
) -> Any:
    """A sweep of 48 runs in 12 blocks or more."""
    return da.sweep(
        scenario(),
        GRID,
        span=(0, 2),
        store=store,
        resume=resume,
        chunk=CHUNK,
        workers=2,
        progress=progress,
    )


@dataclass(frozen=True)
class Writer:
    """One way to write a file: the suffix, the work, and whether what stands there is whole."""

    name: str
    suffix: str
    write: Callable[[Path], Any]
    is_whole: Callable[[Path], bool]


def _is_motion(path: Path) -> bool:
    return bool(np.array_equal(da.load(path).y, motion().y))


def _is_image(path: Path) -> bool:
    with PIL.Image.open(path) as image:
        for frame in range(getattr(image, "n_frames", 1)):
            image.seek(frame)
            image.load()
    return True


def _ends_with(text: bytes) -> Callable[[Path], bool]:
    return lambda path: path.read_bytes().rstrip().endswith(text)


def _is_ensemble(path: Path) -> bool:
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf") as table:
        return bool(np.array_equal(table["theta"].values, many()["theta"]))


@cache
def many() -> Any:
    """A few runs at once."""
    return da.simulate(scenario(), parameters={"m": np.linspace(1, 2, 5)}, span=(0, 1))


@cache
def writers() -> tuple[Writer, ...]:
    """Everything that writes one file."""
    return (
        Writer("Motion.save", ".nc", lambda path: motion().save(path), _is_motion),
        Writer("Ensemble.save", ".nc", lambda path: many().save(path), _is_ensemble),
        Writer("picture .png", ".png", lambda path: motion().plot(path=path), _is_image),
        Writer(
            "picture .svg", ".svg", lambda path: motion().plot(path=path), _ends_with(b"</svg>")
        ),
        Writer(
            "animation",
            ".gif",
            lambda path: motion().animate(path, fps=5, duration=1.0, size=(64, 64)),
            _is_image,
        ),
        Writer(
            "report",
            ".html",
            lambda path: motion().report(path, equations=False),
            _ends_with(b"</html>"),
        ),
        Writer(
            "model file",
            ".toml",
            lambda path: da.save_model(scenario(), path),
            lambda path: bool(da.load_model(path)),
        ),
    )


def written(writer: Writer, path: Path) -> Callable[[Board], None]:
    """The work of a child: to write, and to report that it has."""

    def work(board: Board) -> None:
        writer.write(path)
        board.put(1)

    return work


def hidden(folder: Path) -> list[str]:
    """What was left in a folder."""
    return [name for name in os.listdir(folder) if name.startswith(PREFIX)]


def files_of(store: Path) -> dict[str, bytes]:
    """The chunks of a store by name; what a kill left beside them does not count."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file() and not path.name.endswith(".part") and path.name != "zarr.json"
    }


def parts_of(store: Path) -> list[Path]:
    """The files in a store that were begun and not finished."""
    return list(store.rglob("*.part"))


def emptied(folder: Path) -> Path:
    """A folder with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
