"""Files in folders that others can write to: what was examined is what is used, links of others are
not followed, and files of others are not removed.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import dalembert as da
from dalembert.errors import DalembertError, FileError
from dalembert.lab.server.folder import ModelFolder
from dalembert.model.io import atomic_file
from dalembert.model.io.atomic_file import replaced_whole, write_whole
from dalembert.model.io.files import load_model, loads
from dalembert.model.io.plain_file import program_path, read_plain
from dalembert.model.io.robots.mesh_files import mesh_path, read_mesh

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, owners and modes are POSIX")
with_another_user = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only the superuser can act as another user"
)
ANOTHER = 65534
MODEL = (
    'coordinates = ["x"]\nkinetic = "x_dot**2/2"\nstart = {x_dot = 1.0}\nsimulate = {t = [0, 1]}'
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with one that everybody can write to, and a private one."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "shared").mkdir()
    (folder / "shared").chmod(0o777)
    (folder / "own").mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


def as_another(action) -> None:
    """Act as another user, in a process of its own."""
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setgroups([])
            os.setgid(ANOTHER)
            os.setuid(ANOTHER)
            action()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@with_another_user
@pytest.mark.parametrize("sticky", [True, False])
def test_a_result_is_not_written_through_a_link_of_another_user(place: Path, sticky: bool) -> None:
    """The kernel does not open such a link in /tmp; a path resolved by hand loses that."""
    precious, result = place / "own" / "notes.txt", place / "shared" / "result.nc"
    precious.write_text("precious")
    (place / "shared").chmod(0o1777 if sticky else 0o777)
    as_another(lambda: result.symlink_to(precious))
    motion = da.simulate(loads(MODEL))
    with pytest.raises(FileError, match="cannot be saved"):
        motion.save(result)
    assert precious.read_text() == "precious"


@with_another_user
def test_a_link_of_the_user_is_followed(place: Path) -> None:
    (place / "own" / "kept.txt").write_text("old")
    (place / "own" / "link").symlink_to("kept.txt")
    write_whole(place / "own" / "link", "new")
    assert (place / "own" / "kept.txt").read_text() == "new"
    assert (place / "own" / "link").is_symlink()


@with_another_user
def test_what_is_being_written_cannot_be_exchanged(place: Path) -> None:
    """While ffmpeg writes, the name could become a link to a file of the user's."""
    target = place / "shared" / "film.mp4"
    target.write_text("old")
    target.chmod(0o640)
    with replaced_whole(target) as part:
        assert stat.S_IMODE(part.parent.stat().st_mode) == 0o700 and part.suffix == ".mp4"
        part.write_text("new")
    assert target.read_text() == "new" and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [path.name for path in (place / "shared").iterdir()] == ["film.mp4"]


@with_another_user
def test_leftovers_of_another_user_are_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{atomic_file.PREFIX}{atomic_file._machine()}-999999-0123456789ab.nc"
    left = place / "shared" / name
    as_another(lambda: left.write_text("theirs"))
    own = left.with_name(name.replace("ab.nc", "cd.nc"))
    own.write_text("own")
    for path in (left, own):
        os.utime(path, (1.0, 1.0))
    write_whole(place / "shared" / "a.txt", "new")
    assert left.exists() and not own.exists()


@with_another_user
def test_a_pipe_in_a_folder_of_others_is_not_written_to(place: Path) -> None:
    as_another(lambda: os.mkfifo(place / "shared" / "pipe"))
    with pytest.raises(PermissionError):
        write_whole(place / "shared" / "pipe", "secret")


def test_a_pipe_is_not_waited_for(place: Path) -> None:
    os.mkfifo(place / "own" / "model.toml")
    with pytest.raises(OSError, match="no plain file"):
        read_plain(place / "own" / "model.toml", 10)
    with pytest.raises(FileError, match="cannot be read"):
        load_model(place / "own" / "model.toml")
    with pytest.raises(IsADirectoryError):
        read_plain(place / "own", 10)


def test_a_mesh_is_not_read_through_a_link_that_came_later(place: Path) -> None:
    """Between the look at the path and the look into it a folder becomes a link."""
    inner = place / "robot" / "meshes"
    inner.mkdir(parents=True)
    for folder in (inner, place / "own"):
        (folder / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n")
    found = mesh_path(place / "robot", "meshes/part.obj")
    assert found is not None
    inner.rename(place / "robot" / "before")
    inner.symlink_to(place / "own")
    with pytest.raises(DalembertError, match="cannot be read"):
        read_mesh(found)


def test_the_lab_changes_the_mode_of_what_it_wrote(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the file being written becomes a link to a private file of the user's."""
    secret, folder = place / "own" / "secret", place / "shared"
    secret.write_text("secret")
    secret.chmod(0o600)
    (folder / "a.toml").write_text("old")
    (folder / "a.toml").chmod(0o666)
    sync = os.fsync

    def exchanged(handle: int) -> None:
        sync(handle)
        (part,) = folder.glob(".lab-*")
        part.unlink()
        part.symlink_to(secret)

    monkeypatch.setattr(os, "fsync", exchanged)
    ModelFolder(folder, 1000).write("a.toml", "new")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_a_program_is_not_taken_from_the_current_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """A downloaded folder with a model in it could bring its own ffmpeg."""
    (place / "bin").mkdir()
    for folder in (place, place / "bin"):
        (folder / "ffmpeg").write_text("#!/bin/sh\n")
        (folder / "ffmpeg").chmod(0o755)
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", entry)
    assert program_path("ffmpeg") is None
    monkeypatch.setenv("PATH", str(place / "bin"))
    assert program_path("ffmpeg") == str(place / "bin" / "ffmpeg")
