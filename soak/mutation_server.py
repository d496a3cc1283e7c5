"""Runs tests in children of a warm process: what takes long to import is imported once, the library
anew in each child.

Run as a script in a copy of the project. It reads one job a line from its input, ``{"tests": [[id,
CPU seconds]], "cache": folder, "spare": CPU seconds, "wall": seconds, "sources": digest or null,
"keeps": whether compiled modules are kept}``, and answers with one line, ``{"outcome", "test",
"cpu"}``. A test that takes five times its processor time and `spare` seconds more ends its child:
that is the outcome "time".
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from importlib import import_module
from typing import Any

WARM = (
    "sympy", "casadi", "numpy", "scipy.integrate", "scipy.optimize", "scipy.linalg",
    "scipy.sparse.linalg", "llvmlite.binding",
    "hypothesis", "hypothesis.strategies", "pytest", "_pytest.doctest", "xarray", "zarr",
    "h5netcdf", "typer.testing", "rich",
    "sympy.physics.mechanics", "tomllib", "ctypes", "unittest.mock", "matplotlib.figure",
)  # fmt: skip
_FAILED, _PASSED, _TIME, _NO_TESTS = "killed", "survived", "time", "no tests"
_MEMORY = 6 << 30


class Chosen:
    """A pytest plugin: the chosen tests in their order, the first failure, and the time limit of
    each test.
    """

    def __init__(self, tests: list[tuple[str, float]], spare: float) -> None:
        self.expected = dict(tests)
        self.order = {name: place for place, (name, _) in enumerate(tests)}
        self.spare = spare
        self.failed: str | None = None
        self.ran = 0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order),
            key=lambda item: self.order[item.nodeid],
        )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        allowed = int(time.process_time() + self.spare + 5.0 * self.expected.get(nodeid, 0.0)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.RLIM_INFINITY))
        self.ran += 1

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid


def _child(job: dict[str, Any], answer: int) -> None:
    """Runs the tests of a job in this process and writes the answer."""
    os.setsid()
    log = os.open(os.environ.get("MUTATION_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(job["spare"]) + 30, resource.RLIM_INFINITY))
    os.environ["DALEMBERT_CACHE"] = job["cache"]
    sys.dont_write_bytecode = not job.get("keeps", False)
    import pytest

    if job[
        "sources"
    ]:  # native functions are those of the library as it was: their code is found in the cache
        with contextlib.suppress(Exception):
            native = import_module("dalembert.codegen.native.native_module")
            native._own_sources = lambda: job["sources"]  # type: ignore[attr-defined]
    settings = [
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:randomly",
        "-x",
        "-q",
        "--tb=short",
    ]
    ran, failed = 0, None
    for file, tests in _by_file(job["tests"]):  # to collect a file takes as long as many a test
        plugin = Chosen(tests, job["spare"])
        code = pytest.main([*settings, file], plugins=[plugin])
        ran += plugin.ran
        failed = plugin.failed or (None if code in (0, 5) else f"{file} ended with {code}")
        if failed:
            break
    outcome = _FAILED if failed else (_PASSED if ran else _NO_TESTS)
    os.write(answer, json.dumps({"outcome": outcome, "test": failed, "ran": ran}).encode())


def _by_file(tests: list[list[Any]]) -> list[tuple[str, list[tuple[str, float]]]]:
    """The tests of each file, the quickest file first."""
    files: dict[str, list[tuple[str, float]]] = {}
    for name, cpu in tests:
        files.setdefault(name.partition("::")[0], []).append((name, cpu))
    return sorted(files.items(), key=lambda item: sum(cpu for _, cpu in item[1]))


def run(job: dict[str, Any]) -> dict[str, Any]:
    """The answer to a job, from a child that ends with everything that it started."""
    reader, writer = os.pipe()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            _child(job, writer)
        except BaseException as error:
            os.write(writer, json.dumps({"outcome": _FAILED, "test": repr(error)[:200]}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + job["wall"]
    ended = 0
    while not ended and time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    if said:
        return {**json.loads(said), "cpu": round(cpu, 2)}
    by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    late = not ended or by == signal.SIGXCPU
    return {
        "outcome": _TIME if late else _FAILED,
        "test": None if late else f"signal {by}",
        "cpu": round(cpu, 2),
    }


def main() -> None:
    """Answers jobs until the input ends."""
    sys.dont_write_bytecode = True
    for name in WARM:
        with contextlib.suppress(ImportError):
            import_module(name)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
