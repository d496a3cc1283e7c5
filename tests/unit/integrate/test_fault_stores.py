"""The store of a sweep: damage is noticed by every reader and made good by going on, and one
process at a time writes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import dalembert as da
from dalembert.errors import FileError, RunError
from dalembert.integrate.ensemble.cluster import _Rounds
from dalembert.integrate.ensemble.store import RunBlocks
from dalembert.model.io.files import loads

MODEL = (
    'coordinates = ["x"]\nkinetic = "m*x_dot**2/2"\nparameters = {m = 1.5}\nstart = {x_dot ='
    " 1.0}\nsimulate = {t = [0, 1]}"
)
OVER = {"m": [1.0, 2.0, 3.0, 4.0], "x": [0.0, 1.0]}


def swept(path: Path, resume: bool = False, **options: Any) -> da.Ensemble:
    return da.sweep(loads(MODEL), OVER, store=path, resume=resume, chunk=2, workers=1, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "runs.zarr"
    swept(path)
    return path


@pytest.fixture()
def store(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "runs.zarr"))


def contents(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()
    }


@pytest.mark.parametrize("name", ["x/c.1.0.0", "outcome/c.2.0", "steps/c.0.0", "m/c/0"])
@pytest.mark.parametrize("damage", ["a bit", "cut", "empty", "missing"])
def test_going_on_makes_good_what_is_damaged(
    name: str, damage: str, store: Path, whole: Path
) -> None:
    """A bit that changed in a chunk was read as another number, and a chunk that was lost as runs
    that gave nothing.
    """
    file = store / name
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        bit = content[:3] + bytes([content[3] ^ 4]) + content[4:] if len(content) > 3 else b"?"
        file.write_bytes({"a bit": bit, "cut": content[:-2], "empty": b""}[damage])
        with pytest.raises(ValueError, match="checksum"):
            zarr.open_group(store, mode="r")[name.split("/")[0]][...]
    assert swept(store, resume=True).success
    assert contents(store) == contents(whole)


def test_a_description_that_changed_is_refused(store: Path) -> None:
    file = store / "zarr.json"
    file.write_text(file.read_text().replace('"float64"', '"float32"', 1))
    with pytest.raises(FileError, match="damaged"):
        swept(store, resume=True)


def test_a_store_without_checksums_is_gone_on_with(store: Path, whole: Path) -> None:
    """As it was written before there were checksums."""
    for file in store.rglob("zarr.json"):
        text = file.read_text()
        file.write_text(text.replace('"name": "crc32c"', '"name": "GONE"'))
    for name in (
        "x",
        "x_dot",
        "steps",
        "energy_drift",
        "outcome",
        "message",
        "diagnostics",
        "m",
        "x_start",
        "time",
    ):
        for file in (store / name).rglob("c*"):
            if file.is_file():
                file.write_bytes(file.read_bytes()[:-4])
    _without_codecs(store)
    (store / "outcome" / "c.1.0").unlink()
    found = swept(store, resume=True)
    assert found.success and found.statistics["runs_before"] == 6
    assert np.array_equal(found.states, swept(whole, resume=True).states)


def _without_codecs(store: Path) -> None:
    import json

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [
                changed(item)
                for item in value
                if not (isinstance(item, dict) and item.get("name") == "GONE")
            ]
        return value

    for file in store.rglob("zarr.json"):
        file.write_text(json.dumps(changed(json.loads(file.read_text()))))


@pytest.mark.skipif(os.name == "nt", reason="there are no such locks")
def test_two_cannot_write_to_one_store(store: Path) -> None:
    """Both wrote parts of files under the same names."""
    (store / "outcome" / "c.0.0").unlink()
    seen: list[str] = []

    def meanwhile(*_: float) -> None:
        with pytest.raises(FileError, match="another process") as error:
            swept(store, resume=True)
        seen.append(str(error.value))

    assert swept(store, resume=True, progress=meanwhile).success
    assert seen and swept(store, resume=True).success


def test_texts_are_written_as_zarr_writes_them(tmp_path: Path) -> None:
    """A run that blows up has a sentence, which comes back through zarr."""
    model = da.gallery.load("blow-up")
    runs = da.sweep(
        model, {"q": [0.01, 1.0, 2.0]}, start={"q_dot": 0.0}, store=tmp_path / "runs.zarr", chunk=2
    )
    texts = zarr.open_group(tmp_path / "runs.zarr", mode="r")["message"][...]
    assert texts.tolist() == runs.messages.tolist() and texts[0] == "" and "blew up" in texts[1]


def test_an_ensemble_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = da.simulate(loads(MODEL), parameters={"m": np.array([1.0, 2.0])})
    monkeypatch.setattr(os, "rename", _refuse)
    with pytest.raises(FileError, match="No space"):
        runs.save(tmp_path / "runs.zarr")
    assert os.listdir(tmp_path) == []


def _refuse(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.long
def test_a_scheduler_that_has_gone_is_a_sentence() -> None:
    """What Dask raises when its connection breaks, for whatever it is asked; trouble of our own
    passes.
    """
    distributed = pytest.importorskip("distributed")

    class Gone:
        def nthreads(self) -> dict[str, int]:
            raise distributed.comm.CommClosedError(
                "in <TCP (closed)>: ConnectionResetError: [Errno 104]"
            )

        def as_current(self) -> Any:
            return contextlib.nullcontext()

    class Kept:
        blocks, runs_done = RunBlocks.of((2,), 1), 0

    class Work:
        count = 2

    with pytest.raises(
        RunError,
        match=r"scheduler .* has gone \(seen: CommClosedError; 0 of 2 runs .*\): .* resume",
    ):
        _Rounds(distributed, Gone(), Work(), Kept(), set()).run()


def test_two_sweeps_on_one_scheduler_do_not_share_names() -> None:
    """Dask gives equal keys equal results; an address in memory, which stood in the keys, may be
    equal in two processes.
    """

    class Kept:
        blocks = RunBlocks.of((2,), 1)

    first = _Rounds(None, None, None, Kept(), set())
    place = id(first)
    name = first.name
    del first
    second = _Rounds(None, None, None, Kept(), set())
    assert second.name != name and str(place) not in second.name
