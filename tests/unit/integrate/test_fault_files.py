"""Full disks, kills and damage: the old file or the new one, else a sentence, and no number that
was not saved.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError, FileError
from dalembert.integrate.storage.file_image import DIGEST, MARK, sealed
from dalembert.model.io.atomic_file import PREFIX, place_beside, replaced_whole, write_whole
from dalembert.model.io.files import loads

pytestmark = pytest.mark.skipif(os.name == "nt", reason="children are forked")
MODEL = (
    'coordinates = ["x"]\nkinetic = "m*x_dot**2/2"\nparameters = {m = 1.5}\nstart = {x_dot ='
    " 1.0}\nsimulate = {t = [0, 1]}"
)
OLD = b"the old file"


@pytest.fixture(scope="module")
def motion(tmp_path_factory: pytest.TempPathFactory) -> da.Motion:
    """A motion, saved once so that children need not import what that takes."""
    made = da.simulate(loads(MODEL))
    made.save(tmp_path_factory.mktemp("first") / "motion.nc")
    return made


def status_of(work: Callable[[], None]) -> int:
    """The exit status of a child that does some work, 2 where it is refused, or minus the signal
    that ended it.
    """
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except DalembertError:
            os._exit(2)
        except BaseException:
            os._exit(70)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.long
@pytest.mark.parametrize("most", [0, 8192])
def test_a_motion_on_a_full_disk_is_refused_and_can_be_saved_elsewhere(
    motion: da.Motion, tmp_path: Path, most: int
) -> None:
    """HDF5 itself does not survive a disk that is full: the process ended with a violation of
    memory.
    """
    target, elsewhere = tmp_path / "motion.nc", tmp_path / "elsewhere.nc"
    target.write_bytes(OLD)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        with pytest.raises(
            FileError, match=r"cannot be saved as .* \(seen: File too large\): .* elsewhere"
        ):
            motion.save(target)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        motion.save(elsewhere)

    assert status_of(work) == 0
    assert target.read_bytes() == OLD and sorted(os.listdir(tmp_path)) == [
        "elsewhere.nc",
        "motion.nc",
    ]
    assert np.array_equal(da.load(elsewhere).y, motion.y)


def _many() -> da.Ensemble:
    return da.simulate(loads(MODEL), parameters={"m": np.array([1.0, 2.0])})


WRITERS: dict[str, tuple[str, Callable[[da.Motion, Path], Any]]] = {
    "motion": (".nc", lambda motion, path: motion.save(path)),
    "ensemble": (".nc", lambda motion, path: _many().save(path)),
    "model": (".toml", lambda motion, path: da.save_model(loads(MODEL), path)),
    "picture": (".svg", lambda motion, path: motion.plot("x", path=path)),
    "film": (".gif", lambda motion, path: motion.animate(path, fps=5, duration=0.4, size=(64, 64))),
    "derivation": (".tex", lambda motion, path: motion.equations.to_latex(path)),
    "C": (".c", lambda motion, path: motion.equations.to_c(path)),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_file_takes_its_name_in_one_move(
    kind: str, motion: da.Motion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the move the old file is there, and a disk that refuses it leaves that one and nothing
    else.
    """
    suffix, write = WRITERS[kind]
    target = tmp_path / f"target{suffix}"
    target.write_bytes(OLD)
    monkeypatch.setattr(os, "replace", _refuse)
    with pytest.raises(FileError, match="No space left"):
        write(motion, target)
    assert target.read_bytes() == OLD and os.listdir(tmp_path) == [target.name]


def _refuse(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    target.write_bytes(OLD)

    def work() -> None:
        with replaced_whole(target) as place:
            place.write_bytes(b"half of")
            os.kill(os.getpid(), 9)

    assert status_of(work) == -9
    (left,) = [name for name in os.listdir(tmp_path) if name.startswith(PREFIX)]
    assert target.read_bytes() == OLD
    write_whole(target, "new")
    assert left in os.listdir(
        tmp_path
    )  # too young: its writer may be on a machine with the same name
    os.utime(tmp_path / left, (1.0, 1.0))
    own = place_beside(target)
    own.write_text("")
    os.utime(own, (1.0, 1.0))
    write_whole(target, "newer")
    assert sorted(os.listdir(tmp_path)) == [own.name, "file.txt"] and target.read_text() == "newer"


def test_links_are_followed_modes_kept_and_devices_not_replaced(
    tmp_path: Path, motion: da.Motion
) -> None:
    """A superuser who saved to /dev/null had a plain file there afterwards."""
    plain, link, pipe = tmp_path / "plain", tmp_path / "link", tmp_path / "pipe"
    plain.write_bytes(OLD)
    plain.chmod(0o640)
    link.symlink_to(plain)
    write_whole(link, b"new")
    assert (
        link.is_symlink() and plain.read_bytes() == b"new" and plain.stat().st_mode & 0o777 == 0o640
    )
    os.mkfifo(pipe)
    with pytest.raises(FileError, match="no plain file"):
        motion.save(pipe)
    with replaced_whole(pipe) as place:
        assert place == pipe
    assert pipe.is_fifo()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_file_that_is_protected_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(OLD)
    target.chmod(0o444)
    with pytest.raises(PermissionError):
        write_whole(target, b"new")


# -- damage ----------------------------------------------------------------------------------------


def test_a_digit_that_changed_in_a_file_is_noticed(motion: da.Motion, tmp_path: Path) -> None:
    """The record of a file has no checksum of HDF5: another mass was loaded without a word."""
    path = tmp_path / "motion.nc"
    motion.save(path)
    content = path.read_bytes()
    assert content.count(b'"parameters": {"m": 1.5}') >= 1
    path.write_bytes(content.replace(b'"parameters": {"m": 1.5}', b'"parameters": {"m": 1.7}'))
    with pytest.raises(FileError, match="damaged"):
        da.load(path)


def test_every_cut_and_every_bit_is_noticed(motion: da.Motion, tmp_path: Path) -> None:
    path = tmp_path / "motion.nc"
    motion.save(path)
    content, draw = path.read_bytes(), np.random.default_rng(2)
    changed = [
        content[:n]
        for n in (
            0,
            1,
            8,
            len(content) // 2,
            len(content) - 49,
            len(content) - 48,
            len(content) - 1,
        )
    ]
    for place in (*draw.integers(len(content), size=12), len(content) - 40, len(content) - 1):
        changed.append(
            content[:place]
            + bytes([content[place] ^ 1 << int(draw.integers(8))])
            + content[place + 1 :]
        )
    for data in changed:
        path.write_bytes(data)
        with pytest.raises(FileError):
            da.load(path)


def test_a_file_of_the_format_before_seals_is_read(motion: da.Motion, tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "motion.nc"
    motion.save(path)
    path.write_bytes(path.read_bytes()[: -len(MARK) - DIGEST])
    with pytest.raises(FileError, match="seal"):
        da.load(path)
    with h5py.File(path, "a") as file:
        record = json.loads(file["dalembert/record"][()])
        file["dalembert/record"][()] = json.dumps(record | {"format": 2})
    assert np.array_equal(da.load(path).y, motion.y)


def test_other_programs_read_a_sealed_file(motion: da.Motion, tmp_path: Path) -> None:
    import h5py
    import xarray

    path = tmp_path / "motion.nc"
    motion.save(path)
    assert path.read_bytes() == sealed(path.read_bytes()[: -len(MARK) - DIGEST])
    with xarray.open_dataset(path, engine="h5netcdf") as table:
        assert np.array_equal(table["x"].values, motion["x"])
    with h5py.File(path) as file:
        assert "dalembert" in file
