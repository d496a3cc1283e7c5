"""The cache in a folder that is shared with somebody hostile: links, exchanged folders, entries of
other users.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dalembert.codegen import private_folder
from dalembert.codegen.object_cache import VARIABLE, ObjectCache

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, owners and modes are POSIX")
with_another_user = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only the superuser can act as another user"
)
IDENTITY = hashlib.sha256(b"something").hexdigest()
ATTACKER = 65534


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody can reach and write to, as /tmp is; the user's own folders are beside
    it.
    """
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    (place / "cache").mkdir()
    (place / "cache").chmod(0o1777)
    (place / "home").mkdir(mode=0o700)
    monkeypatch.setenv(VARIABLE, str(place / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "home" / "state"))
    yield place / "cache"
    shutil.rmtree(place)


def hostile_entry(folder: Path) -> None:
    """An entry that is right but for who wrote it: it has the plain checksum that anybody can
    compute.
    """
    code = b"hostile"
    (folder / f"{IDENTITY}.o").write_bytes(hashlib.sha256(IDENTITY.encode() + code).digest() + code)


def own_folder(shared: Path) -> Path:
    """A folder of the victim's, with a file from somebody else and one that trimming would
    delete.
    """
    own = shared.parent / "home" / "downloads"
    own.mkdir(mode=0o700)
    hostile_entry(own)
    (own / "notes.part").write_text("precious")
    os.utime(own / "notes.part", (1.0, 1.0))
    return own


def links_of(attacker: int, name: Path, targets: tuple[Path, Path]) -> int:
    """The process of another user that makes `name` a link to the one and the other folder in
    turn.
    """
    child = os.fork()
    if child:
        return child
    try:
        os.setgroups([])
        os.setgid(attacker)
        os.setuid(attacker)
        spare = name.with_name("spare")
        while True:
            for target in targets:
                spare.symlink_to(target)
                os.replace(spare, name)
    finally:
        os._exit(1)


@with_another_user
@pytest.mark.parametrize(
    "planted", ["the folder in the shared one", "the folder itself", "a folder above"]
)
def test_a_link_of_another_user_is_not_followed(
    shared: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    monkeypatch.setattr("dalembert.codegen.object_cache._TRIMMED", 256)
    own = own_folder(shared)
    target = own
    if planted == "the folder in the shared one":
        link = shared / f"user-{os.geteuid()}"
    elif planted == "the folder itself":
        link = shared / "mine"
        monkeypatch.setenv(VARIABLE, str(link))
    else:
        link, target = shared / "above", own.parent
        monkeypatch.setenv(VARIABLE, str(link / own.name))
    link.symlink_to(target)
    os.lchown(link, ATTACKER, ATTACKER)
    before = sorted(path.name for path in own.iterdir())
    assert ObjectCache().get(IDENTITY) is None
    ObjectCache().put(hashlib.sha256(b"another").hexdigest(), b"code")
    assert sorted(path.name for path in own.iterdir()) == before


@pytest.mark.long
@with_another_user
def test_a_link_that_flips_never_gives_code_of_another_user(shared: Path) -> None:
    """Between the look at a folder and the look into it the link is another one."""
    bait, trap = shared.parent / "home" / "bait", shared.parent / "trap"
    for place, owner in ((bait, os.geteuid()), (trap, ATTACKER)):
        place.mkdir(mode=0o755)
        os.chown(place, owner, owner)
    hostile_entry(trap)
    (shared.parent / "home").chmod(0o711)
    child = links_of(ATTACKER, shared / f"user-{os.geteuid()}", (bait, trap))
    try:
        found = [ObjectCache().get(IDENTITY) for _ in range(8000)]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert set(found) == {None}


@with_another_user
def test_a_folder_that_another_user_made_first_is_not_used(shared: Path) -> None:
    planted = shared / f"user-{os.geteuid()}"
    planted.mkdir(mode=0o700)
    hostile_entry(planted)
    os.chown(planted, ATTACKER, ATTACKER)
    assert ObjectCache().get(IDENTITY) is None
    ObjectCache().put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) is None


@with_another_user
def test_two_users_share_a_folder_and_nothing_in_it(shared: Path) -> None:
    ObjectCache().put(IDENTITY, b"own")
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setgroups([])
            os.setgid(ATTACKER)
            os.setuid(ATTACKER)
            state = shared / "state-of-another"
            os.environ["XDG_STATE_HOME"] = str(state)
            unknown = ObjectCache().get(IDENTITY) is None
            ObjectCache().put(IDENTITY, b"another")
            status = 0 if unknown and ObjectCache().get(IDENTITY) == b"another" else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ObjectCache().get(IDENTITY) == b"own"
    assert {path.name for path in shared.glob("user-*")} == {
        f"user-{os.geteuid()}",
        f"user-{ATTACKER}",
    }


def test_links_of_the_user_are_followed(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many have their cache on another disk, behind a link of their own."""
    own, link = shared.parent / "home" / "disk", shared.parent / "home" / "link"
    own.mkdir(mode=0o700)
    link.symlink_to("../home/disk")
    monkeypatch.setenv(VARIABLE, str(link / "cache"))
    ObjectCache().put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) == b"code"
    assert (own / "cache" / f"{IDENTITY}.o").is_file()


def test_an_entry_that_is_a_link_counts_as_missing(shared: Path) -> None:
    ObjectCache().put(IDENTITY, b"code")
    path = shared / f"user-{os.geteuid()}" / f"{IDENTITY}.o"
    path.rename(shared.parent / "home" / "elsewhere")
    path.symlink_to(shared.parent / "home" / "elsewhere")
    assert ObjectCache().get(IDENTITY) is None


def test_an_entry_with_a_checksum_that_anybody_can_compute_counts_as_missing(shared: Path) -> None:
    ObjectCache().put(IDENTITY, b"code")
    hostile_entry(shared / f"user-{os.geteuid()}")
    assert ObjectCache().get(IDENTITY) is None


def test_an_entry_of_another_secret_counts_as_missing(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ObjectCache().put(IDENTITY, b"code")
    monkeypatch.setenv("XDG_STATE_HOME", str(shared.parent / "home" / "other"))
    assert ObjectCache().get(IDENTITY) is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"short"),
        lambda path: path.chmod(0o644),
        lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
        lambda path: path.unlink(),
    ],
    ids=["cut off", "read by others", "a link", "gone"],
)
def test_a_secret_that_is_spoilt_is_made_anew(shared: Path, spoil) -> None:
    ObjectCache().put(IDENTITY, b"code")
    secret = shared.parent / "home" / "state" / "dalembert" / "cache.key"
    before = secret.read_bytes()
    assert secret.stat().st_mode & 0o777 == 0o600 and len(before) == 32
    spoil(secret)
    assert ObjectCache().get(IDENTITY) is None
    ObjectCache().put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) == b"code"
    assert not secret.is_symlink() and secret.stat().st_mode & 0o777 == 0o600
    assert len(secret.read_bytes()) == 32 and secret.read_bytes() != before


def test_no_descriptor_is_left_open(shared: Path) -> None:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("open files are counted in /proc")
    ObjectCache().put(IDENTITY, b"code")
    before = len(list(folder.iterdir()))
    for _ in range(20):
        ObjectCache().put(IDENTITY, b"code")
        ObjectCache().get(IDENTITY)
        ObjectCache().get("missing")
    assert len(list(folder.iterdir())) == before


def test_without_relative_calls_the_cache_works_by_paths(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_folder, "_RELATIVE", False)
    monkeypatch.setenv(VARIABLE, str(shared.parent / "home" / "cache"))
    ObjectCache().put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) == b"code"
    assert (shared.parent / "home" / "cache" / f"{IDENTITY}.o").stat().st_mode & 0o777 == 0o600
