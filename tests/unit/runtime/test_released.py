"""What is dropped is freed, compiled code among it; and never while someone can still use it."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import threading
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from soak.leak_figures import Sample, growth, sampled_cycles, verdict

import dalembert as da
from dalembert.codegen.backends.llvm import NativeLibrary, object_code
from dalembert.codegen.native.language import Reals, native
from dalembert.codegen.native.native_module import NativeModule
from dalembert.errors import FileError
from dalembert.runtime.context import Context
from dalembert.runtime.kernel import Kernel


def oscillator(stiffness: float) -> da.System:
    x, y = da.coordinates("x y")
    return da.System(
        [x, y], kinetic=x.dot**2 / 2 + y.dot**2 / 2, potential=stiffness * (x**2 + y**2) / 2
    )


def moved(system: da.System, **options: Any) -> da.Motion:
    return da.simulate(system, {"x": 1.0, "y": 0.5}, (0, 1), **options)


def libraries() -> set[int]:
    """The native libraries that are alive."""
    gc.collect()
    return {id(found) for found in gc.get_objects() if type(found) is NativeLibrary}


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [{}, {"method": "taylor"}, {"method": "gauss4", "step": 0.1}],
    ids=["auto", "taylor", "gauss4"],
)
def test_a_motion_that_is_dropped_frees_its_system_its_kernel_and_its_code(
    options: dict[str, Any],
) -> None:
    moved(oscillator(1.25), **options)  # what all systems share is made here
    before = libraries()
    system = oscillator(1.5)
    motion = moved(system, **options)
    assert motion.energy.shape == motion.t.shape
    assert libraries() > before
    watched = [weakref.ref(thing) for thing in (system, motion, motion.equations)]
    del system, motion
    assert libraries() <= before
    assert [thing() for thing in watched] == [None] * 3


@pytest.mark.long
def test_code_stays_while_a_motion_can_be_asked() -> None:
    motion = moved(oscillator(4.0))
    sol = motion.sol
    expected = motion.sol(0.7)[0]
    del motion
    gc.collect()
    moved(oscillator(9.0))  # whose code would lie where the old one was
    assert sol(0.7)[0] == expected == pytest.approx(np.cos(1.4), abs=1e-8)


@pytest.mark.long
def test_code_stays_while_a_context_or_a_function_holds_it() -> None:
    kernel = Kernel(da.derive(oscillator(4.0)))
    context = Context(kernel, np.zeros(0))
    freed = weakref.ref(kernel)
    del kernel
    gc.collect()
    moved(oscillator(9.0))
    assert context.rates(0.0, np.array([1.0, 0.5, 0.0, 0.0]), np.zeros(0))[:4].tolist() == [
        0.0,
        0.0,
        -4.0,
        -2.0,
    ]
    del context
    gc.collect()
    assert freed() is None


@native
def _doubled(n: int, values: Reals) -> float:
    total = 0.0
    for i in range(n):
        total += 2.0 * values[i]
    return total


@pytest.mark.long
def test_code_stays_while_a_function_of_a_module_can_be_called() -> None:
    function = NativeModule([_doubled]).functions["_doubled"]
    gc.collect()
    NativeModule([_doubled])
    assert function(3, np.array([1.0, 2.0, 3.0])) == 12.0


@pytest.mark.long
def test_threads_that_end_leave_no_contexts_behind() -> None:
    kernel = Kernel(da.derive(oscillator(2.0)))
    kernel.rates(0.0, np.zeros(4))
    gc.collect()
    before = sum(type(found) is Context for found in gc.get_objects())
    for _ in range(5):
        thread = threading.Thread(target=kernel.rates, args=(0.0, np.zeros(4)))
        thread.start()
        thread.join()
    gc.collect()
    assert sum(type(found) is Context for found in gc.get_objects()) == before


@pytest.mark.long
def test_constants_of_code_that_was_compiled_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM keeps every constant of a context once, for as long as the context lives."""
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    library = ctypes.CDLL(None)
    if sys.platform != "linux" or not hasattr(library, "mallinfo2"):
        pytest.skip("the C library does not say what is in use")

    class Mallinfo(ctypes.Structure):
        _fields_ = [(f"part{k}", ctypes.c_size_t) for k in range(10)]

    library.mallinfo2.restype = Mallinfo

    def used() -> int:
        gc.collect()
        found = library.mallinfo2()
        return int(found.part4 + found.part7)  # blocks of their own, and those in use of the heap

    def compiled(number: int) -> None:
        lines = [
            f"%a{k} = fadd double {f'%a{k - 1}' if k else '0.0'}, {1000.0 * number + k + 0.125!r}"
            for k in range(200)
        ]
        object_code("define double @f() {\n" + "\n".join(lines) + "\nret double %a199\n}\n", 1)

    for number in range(5):
        compiled(number)
    before = used()
    for number in range(5, 30):
        compiled(number)
    assert used() - before < 200 * 25 * 64  # a constant took 240 bytes


def test_a_store_is_read_when_it_is_asked_for(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ensemble of a store holds nothing of it until someone asks, and then that part alone."""
    from dalembert.integrate.ensemble import store
    from dalembert.integrate.ensemble.store import StoredArray

    monkeypatch.setattr(store, "SMALL_STORE", 100)
    read: list[Any] = []
    plain = StoredArray.__getitem__

    def counted(self: StoredArray, part: Any) -> Any:
        read.append(part)
        return plain(self, part)

    monkeypatch.setattr(StoredArray, "__getitem__", counted)
    at = np.linspace(0.1, 1.0, 10)
    over = {"x": np.linspace(0.1, 1.0, 7)}
    runs = da.sweep(
        oscillator(4.0),
        over,
        start={"y": 0.0},
        span=(0, 1),
        at=at,
        store=tmp_path / "runs.zarr",
        chunk=3,
    )
    assert not read
    assert runs.success and read == [...]
    assert runs.final["x"].shape == (7,) and read[1] == (..., 9)
    assert np.array_equal(runs["x"][:, 9], runs.final["x"]) and np.allclose(
        runs["x"], np.outer(over["x"], np.cos(2 * at))
    )
    in_memory = da.sweep(oscillator(4.0), over, start={"y": 0.0}, span=(0, 1), at=at, chunk=3)
    assert np.array_equal(runs.states, in_memory.states) and np.array_equal(
        runs.steps, in_memory.steps
    )
    assert runs.messages.tolist() == [""] * 7 and np.array_equal(
        runs.energy_drift, in_memory.energy_drift
    )


@pytest.mark.parametrize("limit", [0, 1 << 26], ids=["large", "small"])
def test_an_ensemble_whose_store_is_gone_has_its_results_or_says_so(
    limit: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dalembert.integrate.ensemble import store

    monkeypatch.setattr(store, "SMALL_STORE", limit)
    path = tmp_path / "runs.zarr"
    runs = da.sweep(
        oscillator(4.0), {"x": [0.1, 0.2]}, start={"y": 0.0}, span=(0, 1), at=[1.0], store=path
    )
    shutil.rmtree(path)
    if limit:
        assert runs.success and runs["x"][:, 0] == pytest.approx(
            np.cos(2.0) * np.array([0.1, 0.2]), abs=1e-7
        )
    else:
        with pytest.raises(FileError, match=r"is gone.*keep the store"):
            _ = runs.success


# -- the watch of `python -m soak leaks` -----------------------------------------------------------


def samples(**growing: float) -> list[Sample]:
    """Samples of a process that grows by so much a cycle, with noise of a page."""
    random = np.random.default_rng(3)
    flat = {
        "rss": 2e8,
        "heap": 3e7,
        "maps": 300,
        "files": 6,
        "threads": 2,
        "objects": 9e4,
        "libraries": 3,
    }
    found = []
    for cycle in range(0, 2000, 50):
        held = {key: int(value + growing.get(key, 0.0) * cycle) for key, value in flat.items()}
        found.append(
            Sample(cycle=cycle, **held | {"rss": held["rss"] + int(random.integers(-2, 3)) * 4096})
        )
    return found


@pytest.mark.parametrize("key", ["rss", "heap", "objects", "libraries", "maps", "files", "threads"])
def test_whatever_grows_is_seen_and_nothing_else(key: str) -> None:
    assert not verdict(samples())
    by = {
        "rss": 2000.0,
        "heap": 2000.0,
        "objects": 2.0,
        "libraries": 0.05,
        "maps": 0.1,
        "files": 0.01,
        "threads": 0.01,
    }
    (fault,) = verdict(samples(**{key: by[key]}))
    assert fault.startswith(key)


def test_a_pool_that_grows_once_is_no_leak() -> None:
    """And one that grows again is."""
    found = samples()
    once = [
        replace(row, heap=row.heap + 5_000_000 * (k > 0.7 * len(found)))
        for k, row in enumerate(found)
    ]
    assert growth([row.cycle for row in once[20:]], [row.heap for row in once[20:]]).least > 512
    assert not verdict(once)
    again = [replace(row, heap=row.heap + 100_000 * k) for k, row in enumerate(found)]
    assert [fault.split()[0] for fault in verdict(again)] == ["heap"]


def test_a_slope_comes_with_its_doubt() -> None:
    random, cycles = np.random.default_rng(7), np.arange(400.0)
    hits = 0
    for _ in range(200):
        found = growth(cycles.tolist(), (3.0 * cycles + random.normal(0, 50.0, 400)).tolist())
        hits += abs(found.slope - 3.0) <= found.uncertainty
    assert 180 <= hits <= 199  # twice the standard error covers 95 of 100


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_references_that_are_kept_are_seen() -> None:
    held: list[bytearray] = []
    leaking = sampled_cycles(lambda k: held.append(bytearray(5000)), lambda: True, every=40)
    assert any(fault.startswith("heap") for fault in verdict(leaking))
    plain = sampled_cycles(lambda k: bytearray(5000), lambda: True, every=40)
    assert not any(fault.startswith("heap") for fault in verdict(plain))


INTERRUPTED = """
import gc
import os
from dalembert.codegen.backends import llvm

text = "define double @f(double %x) {\\n %y = fadd double %x, 1.5\\n ret double %y\\n}\\n"

class Interrupting:
    def emit_object(self, module):
        raise KeyboardInterrupt

llvm._machine = lambda level: Interrupting()
for number in range(200):
    try:
        llvm.object_code(text, 2)
    except KeyboardInterrupt as interrupt:
        ring = [interrupt]  # whose traceback refers to the module
        ring.append(ring)
    del ring
    gc.collect()
print("alive")
"""


@pytest.mark.long
def test_an_interrupted_compilation_is_taken_down_in_order() -> None:
    """The collector of cycles came to the context before its module, and Python ended with a
    violation of memory.
    """
    environment = os.environ | {"DALEMBERT_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
