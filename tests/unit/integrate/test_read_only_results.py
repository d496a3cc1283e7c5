"""Arrays of results cannot be written to: what is computed from them later would silently
follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dalembert as da


def bouncing() -> Any:
    x, y = da.coordinates("x y")
    floor = da.unilateral(-y, name="floor", restitution=0.5)
    wire = da.holonomic(x, name="wire")
    ball = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=9.81 * y, constraints=[wire, floor]
    )
    turning = da.event(y.dot, name="turning")
    return da.simulate(ball, {"y": 1.0}, (0, 1), events=[turning], form="lagrange")


def arrays_of(motion: Any) -> Iterator[tuple[str, Any]]:
    """Every array that a motion shows."""
    yield from ((name, motion[name]) for name in motion.names)
    yield from (
        ("t", motion.t),
        ("y", motion.y),
        ("energy", motion.energy),
        ("owner", motion.owner),
    )
    yield from (
        (f"event {kind}", array)
        for kind in ("t_events", "y_events")
        for array in getattr(motion, kind)
    )
    for table in (motion.residuals.position, motion.residuals.velocity):
        yield from table.items()
    for segment in motion.segments:
        yield from (
            ("step_t", segment.step_t),
            ("step_y", segment.step_y),
            ("full_y", segment.full_y),
        )


@pytest.mark.long
def test_the_arrays_of_a_motion_are_read_only() -> None:
    """`motion.y[0, 0] = 9` changed the energy that was computed afterwards."""
    motion = bouncing()
    before = float(bouncing().energy[0])
    found = dict(arrays_of(motion))
    assert {"t", "y", "energy", "wire", "step_y", "event t_events"} <= set(found)
    for name, array in found.items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 9.0
        assert not array.flags.writeable, name
    assert motion.energy[0] == before


def test_reactions_that_are_changed_are_copies() -> None:
    motion = bouncing()
    force = motion.reactions["wire"].force
    if force.flags.writeable:
        force[...] = 9.0
    assert not np.any(motion.reactions["wire"].force == 9.0)


def test_tables_of_a_motion_belong_to_the_reader() -> None:
    motion = bouncing()
    before = motion.y.copy()
    table = motion.to_xarray()
    table["y"][:] = 9.0
    frame = pytest.importorskip("pandas") and motion.to_dataframe()
    frame.loc[:, "y"] = 9.0
    assert np.array_equal(motion.y, before)


def test_the_arrays_of_an_ensemble_are_read_only() -> None:
    x = da.coordinates("x")
    k = da.parameters("k", positive=True)
    spring = da.System([x], kinetic=x.dot**2 / 2, potential=k * x**2 / 2)
    runs = da.simulate(spring, {"x": [1.0, 2.0]}, (0, 1), parameters={"k": 4.0}, at=[0, 1])
    arrays = [
        runs.states,
        runs.codes,
        runs.messages,
        runs.steps,
        runs.energy_drift,
        runs.outcomes,
        runs.has_diagnostics,
        runs.t,
    ]
    arrays += [runs["x"], runs["x_dot"], runs["t"], *runs.columns.values(), *runs.final.values()]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array[...]
    table = runs.to_xarray()
    table["x"][:] = 9.0
    assert runs["x"][0, 0] == 1.0


@pytest.mark.long
def test_derivatives_along_a_motion_are_read_only() -> None:
    x = da.coordinates("x")
    k = da.parameters("k", positive=True)
    spring = da.System([x], kinetic=x.dot**2 / 2, potential=k * x**2 / 2)
    found = da.analysis.sensitivities(
        da.simulate(spring, {"x": 1.0}, (0, 1), parameters={"k": 4.0}), wrt=["k"]
    )
    with pytest.raises(ValueError, match="read-only"):
        found.t[0] = 9.0
