"""Compiled models from the cache: the motions of the models themselves, to the last bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dalembert as da
from dalembert.codegen.backends import llvm
from dalembert.codegen.object_cache import ObjectCache
from dalembert.integrate.motion import Motion
from dalembert.integrate.stored_model import keep_model, stored_model
from dalembert.integrate.stored_run import run_stored
from dalembert.runtime.stored_kernel import NotStoredError

KEY = "test of stored models"


@pytest.fixture(autouse=True)
def _own_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep models in memory; code that was compiled is found where it always is."""
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(
        "dalembert.integrate.stored_model.store", lambda key, data: kept.update({key: data})
    )
    monkeypatch.setattr("dalembert.integrate.stored_model.stored", kept.get)


def assert_same(motion: Motion, again: Motion) -> None:
    """Every number and sentence but the seconds."""
    assert again.message == motion.message and again.names == motion.names
    for name in motion.names:
        np.testing.assert_array_equal(again[name], motion[name], err_msg=name)
    assert dict(again.start) == dict(motion.start)
    assert again.start_report == motion.start_report
    assert dict(again.parameters) == dict(motion.parameters)
    assert again.worst_residual == motion.worst_residual
    assert [*again.reactions] == [*motion.reactions]
    for name, reaction in motion.reactions.items():
        np.testing.assert_array_equal(again.reactions[name].force, reaction.force)
        np.testing.assert_array_equal(again.reactions[name].multiplier, reaction.multiplier)
    told, found = (
        {k: v for k, v in m.statistics.items() if "seconds" not in k} for m in (motion, again)
    )
    assert told == found


@pytest.mark.parametrize(
    "name",
    [
        "rolling-disk",  # on independent velocities
        "spherical-pendulum",  # Hamiltonian, with a constraint of positions
        "chaplygin-sleigh",
        "rolling-disk-vakonomic",  # with costates in the state
        "lc-circuit",  # a flow
        "snakeboard",
        "stewart-platform",  # sparse
    ],
)
def test_the_motion_is_that_of_the_model(name: str) -> None:
    motion = da.simulate(da.gallery.load(name), span=(0, 1), at=[0.0, 0.25, 0.5, 1.0])
    for column in motion.names:
        assert len(motion[column])  # what has not been asked for is not compiled
    assert keep_model(KEY, motion, {})
    model = stored_model(KEY)
    assert model is not None
    assert_same(motion, run_stored(model))


def test_runs_in_which_something_is_decided_are_not_kept() -> None:
    x = da.coordinates("x")
    free = da.System([x], kinetic=x.dot**2 / 2)
    u = da.inputs("u")
    pushed = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    start = {x: 1.0, x.dot: -1.0}
    for motion in (
        da.simulate(free, start, (0, 2), events=[x]),
        da.simulate(free, start, (0, 2), method="gauss4", step=0.1),
        da.simulate(pushed, start, (0, 2), inputs={u: lambda t, y: 1.0}),
        da.simulate(da.gallery.load("elastic-pendulum-wall"), span=(0, 0.5)),
    ):
        assert not keep_model(KEY, motion, {})
    assert keep_model(KEY, da.simulate(free, start, (0, 2)), {})


def test_code_that_is_gone_and_records_that_are_broken_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    motion = da.simulate(da.gallery.load("chaplygin-sleigh"), span=(0, 1))
    assert keep_model(KEY, motion, {})
    from dalembert.integrate import stored_model as module

    data = json.loads(module.stored(KEY))
    for broken in (b"", b"[]", b"{}", b"null", b"[" * 100_000, b"\xff"):
        monkeypatch.setattr(module, "stored", lambda key, broken=broken: broken)
        assert stored_model(KEY) is None
    data["kernel"]["code"] = {}
    monkeypatch.setattr(module, "stored", lambda key: json.dumps(data).encode())
    model = stored_model(KEY)
    if model is not None:  # found out when it is run
        with pytest.raises(NotStoredError):
            run_stored(model)


def test_a_record_is_signed(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    llvm.store(KEY, b"one")
    assert llvm.stored(KEY) == b"one"
    (file,) = [path for path in ObjectCache().folder.iterdir() if path.suffix == ".o"]
    file.write_bytes(file.read_bytes()[:-3] + b"two")
    assert llvm.stored(KEY) is None
