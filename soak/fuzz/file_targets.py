"""What must hold for robots and results from others: URDF and MJCF files, motions (netCDF) and
stores of sweeps (Zarr).

A motion or a store is honest but for the bytes of the input, and carries a seal that fits them: a
random change of a sealed file would only meet the seal.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

import h5py

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.integrate.storage.file_image import DIGEST, MARK, sealed
from dalembert.model.io.files import loads
from dalembert.model.io.robots.load import robot_scenario

__all__ = ["HDF5", "STORE_FILES", "honest_image", "honest_store", "motion", "robot", "store"]

MODEL = (
    'coordinates = ["x"]\nkinetic = "m*x_dot**2/2"\nparameters = {m = 1.5}\nstart = {x_dot ='
    " 1.0}\nsimulate = {t = [0, 1]}"
)
#: How an HDF5 file begins; other inputs are the record of a motion, as JSON.
HDF5 = b"\x89HDF"
OVER = {"m": [1.0, 2.0, 3.0]}
#: Files of a store that an input may replace.
STORE_FILES = ("zarr.json", "x/zarr.json", "m/zarr.json", "m/c/0", "x/c.0.0", "message/c.0")


def robot(data: bytes) -> DalembertError | None:
    """A robot file to a scenario; the error that refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot_scenario(data, None)
        except DalembertError as error:
            return error
    return None


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="dalembert-fuzz-"))


@cache
def honest_image() -> bytes:
    """A motion as netCDF, without its seal."""
    path = _folder() / "honest.nc"
    da.simulate(loads(MODEL)).save(path)
    return path.read_bytes()[: -len(MARK) - DIGEST]


def motion(data: bytes) -> DalembertError | None:
    """A motion whose file, or whose record in an honest file, is `data`; the error that refuses
    it.
    """
    image = data
    if not data.startswith(HDF5):
        content = io.BytesIO(honest_image())
        with h5py.File(content, "a") as file:
            del file["dalembert/record"]
            text = data.decode("utf-8", "replace").replace("\x00", " ")
            file["dalembert"].create_dataset("record", data=text, dtype=h5py.string_dtype())
        image = content.getvalue()
    path = _folder() / "motion.nc"
    path.write_bytes(sealed(image))
    try:
        da.load(path)
    except DalembertError as error:
        return error
    return None


@cache
def honest_store() -> Path:
    """A store of three runs."""
    path = _folder() / "honest.zarr"
    da.sweep(loads(MODEL), OVER, store=path, chunk=2, workers=1)
    return path


def store(data: bytes) -> DalembertError | None:
    """A store one file of which, chosen by the first byte, is the rest of `data`; the error that
    refuses to go on with it.
    """
    if not data:
        return None
    path = _folder() / "runs.zarr"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(honest_store(), path)
    (path / STORE_FILES[data[0] % len(STORE_FILES)]).write_bytes(data[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            runs = da.sweep(loads(MODEL), OVER, store=path, resume=True, chunk=2, workers=1)
        except DalembertError as error:
            return error
    if not runs.success:
        raise AssertionError("a store was taken whose runs did not finish")
    return None
