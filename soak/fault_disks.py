"""Disks that are full, folders that cannot be written, homes that do not exist."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .fault_children import FELL, HAS_STRACE, REFUSED, WRITING, Board, Ended, calls_of, forked
from .fault_kills import (
    _KNOWN,
    after_a_broken_sweep,
    bits_of_a_run,
    drawn_writer,
    reference_bits,
    reference_store,
    sweeping,
    with_cache,
)
from .fault_state import State
from .fault_work import emptied, hidden, motion, scenario, written

#: What a disk answers.
ERRORS = ("ENOSPC", "EDQUOT", "EIO", "EROFS")
#: A user without rights.
NOBODY = 65534


def is_refusal(ended: Ended) -> bool:
    """Whether a child ended with an error in three parts, in one sentence."""
    return ended.status == REFUSED and "(seen: " in ended.said and "Traceback" not in ended.said


def a_file_on_a_full_disk(state: State) -> None:
    """From a call on, the disk takes nothing: a sentence, the old file as it was, nothing left;
    elsewhere it can be saved.
    """
    if not HAS_STRACE:
        return a_file_beyond_the_limit(state)
    writer = drawn_writer(state)
    folder = emptied(state.folder / "full")
    target, elsewhere = folder / f"target{writer.suffix}", folder / f"elsewhere{writer.suffix}"
    target.write_bytes(b"the old file")
    if writer.name not in state.calls:
        state.calls[writer.name] = calls_of(written(writer, target))
        target.write_bytes(b"the old file")
    error, first = state.draw.choice(ERRORS), state.draw.randint(1, state.calls[writer.name])
    calls = "write,pwrite64,writev,fsync,rename,renameat,renameat2,mkdir,chmod,fchmod"
    ended = forked(written(writer, target), inject=f"{calls}:error={error}:when={first}+")
    found = target.read_bytes()
    trouble = None
    if ended.status == 0:
        if found == b"the old file":
            trouble = (
                f"{writer.name} returned without an error from a disk that refused ({error} from"
                f" call {first} on)"
            )
    elif not is_refusal(ended):
        trouble = f"{writer.name} ended with {ended.status}: {ended.said[-300:]}"
    if found != b"the old file" and not writer.is_whole(target):
        trouble = f"{writer.name} left a file that is not whole"
    if trouble is None and ended.status != 0:
        trouble = f"{hidden(folder)} were left" if hidden(folder) else None
        writer.write(elsewhere)
        if not writer.is_whole(elsewhere):
            trouble = f"{writer.name} cannot be written elsewhere afterwards"
    state.judge("files on a full disk", trouble)


def a_file_beyond_the_limit(state: State) -> None:
    """No file may be longer than so many bytes (RLIMIT_FSIZE)."""
    writer = drawn_writer(state)
    folder = emptied(state.folder / "limit")
    target = folder / f"target{writer.suffix}"
    if f"{writer.name} reference" not in _KNOWN:
        writer.write(target)
        _KNOWN[f"{writer.name} reference"] = target.read_bytes()
    target.write_bytes(b"the old file")
    most = state.draw.randrange(len(_KNOWN[f"{writer.name} reference"]))

    def work(board: Board) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        writer.write(target)

    ended = forked(work)
    trouble = None
    if not is_refusal(ended):
        trouble = (
            f"{writer.name} beyond {most} bytes ended with {ended.status}: {ended.said[-300:]}"
        )
    elif target.read_bytes() != b"the old file" or hidden(folder):
        trouble = f"{writer.name} beyond {most} bytes left {os.listdir(folder)}"
    state.judge("files beyond a limit of bytes", trouble)


def a_store_on_a_full_disk(state: State) -> None:
    """A sentence, what was stored stays, and with room again going on gives the undisturbed
    store.
    """
    reference, path = reference_store(state), emptied(state.folder / "full") / "runs.zarr"
    if HAS_STRACE:
        if "sweep" not in state.calls:
            state.calls["sweep"] = calls_of(sweeping(path))
            path = emptied(state.folder / "full") / "runs.zarr"
        first = state.draw.randint(1, state.calls["sweep"])
        inject = f"write,pwrite64,rename,mkdir:error={state.draw.choice(ERRORS)}:when={first}+"
        ended = forked(sweeping(path), inject=inject)
    else:
        return
    trouble = (
        None
        if ended.status == 0 or is_refusal(ended)
        else f"it ended with {ended.status}: {ended.said[-400:]}"
    )
    state.judge("stores on a full disk", trouble or after_a_broken_sweep(path, ended, reference))


def a_cache_on_a_full_disk(state: State) -> None:
    """The run goes on as if there were no cache."""
    folder = emptied(state.folder / "fullcache")
    if not HAS_STRACE:
        return
    inject = f"{WRITING}:error={state.draw.choice(ERRORS)}:when={state.draw.randint(1, 12)}+"
    ended = forked(with_cache(folder, bits_of_a_run), inject=inject)
    good = ended.status == 0 and ended.reported == reference_bits(state)
    trouble = None if good else f"the run ended with {ended.status}: {ended.said[-300:]}"
    if trouble is None and list(folder.rglob("*.part")) and "unlink" not in inject:
        trouble = "something was left"
    state.judge("caches on a full disk", trouble)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path | None]:
    """A disk of its own, for those who may mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    done = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
            capture_output=True,
        ).returncode
    )
    try:
        yield folder if done else None
    finally:
        if done:
            subprocess.run(["umount", str(folder)], check=True)


def a_disk_that_is_too_small(state: State) -> None:
    """A real disk of a few pages: files, the store and the cache together."""
    with small_disk(state.folder / "small", f"{state.draw.randint(16, 200)}k") as disk:
        if disk is None:
            return
        (disk / "cache").mkdir(mode=0o700)
        target = disk / "motion.nc"

        def work(board: Board) -> None:
            os.environ["DALEMBERT_CACHE"] = str(disk / "cache")
            bits_of_a_run(board)
            motion().save(target)

        ended = forked(work)
        trouble = None
        if ended.reported != reference_bits(state):
            trouble = f"the run did not go on: {ended.status}: {ended.said[-300:]}"
        elif ended.status != 0 and not is_refusal(ended):
            trouble = f"it ended with {ended.status}: {ended.said[-300:]}"
        elif target.exists() != (ended.status == 0):
            trouble = "there is a file, and it was not reported as saved"
        state.judge("disks that are too small", trouble)


def _homeless(folder: Path) -> None:
    for name in ("XDG_CACHE_HOME", "DALEMBERT_CACHE", "HOME"):
        os.environ.pop(name, None)


def _set(**values: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        _homeless(folder)
        os.environ.update({name: value.format(folder) for name, value in values.items()})

    return change


#: Where the cache should be, by name: folders that are not there or cannot be written, files, loops
#: of links, pipes.
PLACES: dict[str, Callable[[Path], None]] = {
    "no home, and no entry for the user": _homeless,
    "a home that does not exist": _set(HOME="/nowhere/at/all"),
    "a home that is a file": _set(HOME="{}/file"),
    "a cache that is a file": _set(DALEMBERT_CACHE="{}/file"),
    "a cache behind a loop of links": _set(DALEMBERT_CACHE="{}/loop/cache"),
    "a cache that is a pipe": _set(DALEMBERT_CACHE="{}/pipe"),
    "a folder that cannot be written": _set(DALEMBERT_CACHE="{}/closed"),
    "a folder that everybody can write": _set(DALEMBERT_CACHE="{}/open"),
    "a folder in one that cannot be entered": _set(DALEMBERT_CACHE="{}/locked/cache"),
    "a device": _set(DALEMBERT_CACHE="/dev/full"),
}


def a_place_that_cannot_be_used(state: State) -> None:
    """A user without rights, and a cache where there cannot be one: the run goes on, and saving
    there is refused.
    """
    folder = emptied(state.folder / "places")
    (folder / "file").write_text("in the way")
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    for name, mode in (("closed", 0o555), ("open", 0o777), ("locked", 0o000)):
        (folder / name).mkdir()
        (folder / name).chmod(mode)
    place = state.draw.choice(sorted(PLACES))

    def work(board: Board) -> None:
        PLACES[place](folder)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        scenario()
        bits_of_a_run(board)
        motion().save(folder / "closed" / "motion.nc")

    for path in (state.folder, *state.folder.parents):
        if os.stat(path).st_uid == os.geteuid() and not os.stat(path).st_mode & 0o001:
            os.chmod(path, os.stat(path).st_mode | 0o711)
    ended = forked(work)
    trouble = None
    if ended.reported != reference_bits(state):
        trouble = f"{place}: the run ended with {ended.status}: {ended.said[-300:]}"
    elif not is_refusal(ended):
        trouble = (
            f"{place}: saving in a closed folder ended with {ended.status}: {ended.said[-300:]}"
        )
    assert ended.status != FELL or trouble
    state.judge("places that cannot be used", trouble)
