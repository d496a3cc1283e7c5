"""Files that were cut off, altered, exchanged or made by others: they are noticed, and never give
wrong numbers.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.errors import DalembertError

from .fault_children import forked
from .fault_disks import NOBODY
from .fault_kills import bits_of_a_run, reference_bits, reference_store, sweeping, with_cache
from .fault_state import State
from .fault_work import emptied, files_of, motion, swept


def damaged(state: State, content: bytes) -> tuple[str, bytes]:
    """A content that is not what was written, and in a word what was done to it."""
    draw, place = state.draw, state.draw.randrange(max(1, len(content)))
    match draw.choice(["bit", "byte", "cut", "empty", "zeros", "longer", "swapped"]):
        case "bit":
            return (
                "a bit",
                content[:place]
                + bytes([content[place] ^ 1 << draw.randrange(8)])
                + content[place + 1 :],
            )
        case "byte":
            return (
                "a byte",
                content[:place]
                + bytes([content[place] ^ draw.randrange(1, 256)])
                + content[place + 1 :],
            )
        case "cut":
            return "cut off", content[:place]
        case "empty":
            return "empty", b""
        case "zeros":
            length = min(draw.randint(1, 4096), len(content) - place)
            changed = content[:place] + bytes(length) + content[place + length :]
            return ("zeros", changed) if changed != content else ("empty", b"")
        case "longer":
            return "longer", content + draw.randbytes(draw.randint(1, 100))
        case _:
            half = len(content) // 2
            return "halves exchanged", content[half:] + content[:half]


def a_damaged_cache(state: State) -> None:
    """Whatever lies in the cache, the run has the bits of one without a cache."""
    whole, folder = state.folder / "wholecache", emptied(state.folder / "cache")
    if not whole.exists():
        whole.mkdir(mode=0o700)
        forked(with_cache(whole, bits_of_a_run, anew=True))
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    entries = sorted(folder.glob("*.o"))
    word = state.draw.choice(
        [
            "content",
            "content",
            "content",
            "exchanged",
            "folder",
            "link",
            "pipe",
            "huge",
            "closed",
            "foreign",
        ]
    )
    for path in entries:
        _spoil(state, word, path, entries)
    ended = forked(with_cache(folder, bits_of_a_run, anew=state.draw.random() < 0.2))
    for path in folder.glob("*.o"):
        if path.is_file() and path.stat().st_size > 2**28:
            path.unlink()
    good = ended.status == 0 and ended.reported == reference_bits(state)
    state.counts["cache entries damaged"] += len(entries)
    state.judge(
        "damaged caches",
        None if good else f"{word}: the run ended with {ended.status}: {ended.said[-300:]}",
    )


def _spoil(state: State, word: str, path: Path, entries: list[Path]) -> None:
    if word == "content":
        path.write_bytes(damaged(state, path.read_bytes())[1])
        return
    if word == "closed":
        path.chmod(0o000)
        return
    if word == "exchanged":
        other = state.draw.choice(entries)
        first, second = path.read_bytes(), other.read_bytes() if other.is_file() else b""
        path.write_bytes(second)
        other.write_bytes(first)
        return
    content = path.read_bytes()
    path.unlink()
    if word == "folder":
        path.mkdir()
    elif word == "link":
        path.symlink_to(path)
    elif word == "pipe":
        os.mkfifo(path)
    elif word == "huge":
        with path.open("wb") as file:
            file.truncate(2**33)
    else:
        path.write_bytes(bytes(32) + content[32:])
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)


def a_damaged_motion(state: State) -> None:
    """A file is refused in three parts, or it gives every number that was saved."""
    folder = emptied(state.folder / "motion")
    path = folder / "motion.nc"
    motion().save(path)
    content = path.read_bytes()
    for _ in range(20):
        word, changed = damaged(state, content)
        path.write_bytes(changed)
        state.judge("damaged files of a motion", _read_or_refused(word, path))


def _read_or_refused(word: str, path: Path) -> str | None:
    try:
        loaded = da.load(path)
    except DalembertError as error:
        return (
            None
            if "\n" not in str(error) and len(str(error)) < 600
            else f"{word}: a long refusal, {str(error)[:200]}"
        )
    except Exception as error:
        return f"{word}: {error!r}"
    same = all(
        np.array_equal(loaded[name], motion()[name], equal_nan=True) for name in motion().names
    )
    return (
        None
        if same and loaded.parameters == motion().parameters
        else f"{word}: other numbers were loaded"
    )


def a_damaged_store(state: State) -> None:
    """A chunk of a store: whoever reads it is refused, and going on makes its runs again."""
    reference, folder = reference_store(state), emptied(state.folder / "damaged")
    path = folder / "runs.zarr"
    shutil.copytree(state.folder / "reference.zarr", path)
    chunks = [name for name in reference if not name.startswith("message")]
    name = state.draw.choice(chunks)
    word, changed = damaged(state, reference[name])
    (path / name).write_bytes(changed)
    if state.draw.random() < 0.3:
        word = "missing"
        (path / name).unlink()
    trouble = None if word == "missing" else _noticed(path, name, word)
    again = forked(sweeping(path, resume=True))
    if again.status != 0:
        trouble = f"{name} ({word}): going on ended with {again.status}: {again.said[-300:]}"
    elif files_of(path) != reference:
        trouble = f"{name} ({word}): going on left a store that is not the undisturbed one"
    state.judge("damaged stores", trouble)


def _noticed(path: Path, name: str, word: str) -> str | None:
    """Whether a reader of Zarr refuses a damaged chunk."""
    import zarr

    try:
        zarr.open_group(path, mode="r")[name.split("/")[0]][...]
    except Exception:
        return None
    return f"{name} ({word}): zarr read it without a word"


def a_damaged_description(state: State) -> None:
    """A description in a store (zarr.json): a refusal in three parts, or a sweep with the right
    numbers.
    """
    reference_store(state)
    path = emptied(state.folder / "damaged") / "runs.zarr"
    shutil.copytree(state.folder / "reference.zarr", path)
    described = state.draw.choice(sorted(path.rglob("zarr.json")))
    word, changed = damaged(state, described.read_bytes())
    described.write_bytes(changed)
    try:
        found = swept(path, resume=True)
    except DalembertError:
        state.judge("damaged descriptions of stores", None)
        return
    except Exception as error:
        state.judge(
            "damaged descriptions of stores", f"{described.parent.name} ({word}): {error!r}"
        )
        return
    same = np.array_equal(found.states, swept(None).states) and found.success
    trouble = None if same else f"{described.parent.name} ({word}): other numbers"
    state.judge("damaged descriptions of stores", trouble)


ROUNDS: list[Callable[[State], None]] = [
    a_damaged_cache,
    a_damaged_motion,
    a_damaged_store,
    a_damaged_description,
]
