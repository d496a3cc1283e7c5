"""Where the seconds of a run go, and what a row of four-bars costs."""

from __future__ import annotations

import sympy

import dalembert as da
from dalembert.formulations.constraint_jacobian import generic_rank
from dalembert.model.work_clock import clock_reading, seconds_since, work

KINDS = ("derive", "check", "compile", "start", "integrate", "other")


def four_bars(loops: int, extra: bool = False) -> tuple[da.System, dict[sympy.Symbol, float]]:
    """Unit masses at the tips of parallel cranks, joined by couplers, all of unit length."""
    q = da.coordinates(" ".join(f"x{k} y{k}" for k in range(loops + 1)))
    xs, ys = q[::2], q[1::2]
    rods = [
        da.holonomic((x - k) ** 2 + y**2 - 1, name=f"crank{k}")
        for k, (x, y) in enumerate(zip(xs, ys, strict=True))
    ]
    rods += [
        da.holonomic((xs[k + 1] - xs[k]) ** 2 + (ys[k + 1] - ys[k]) ** 2 - 1, name=f"coupler{k}")
        for k in range(loops)
    ]
    if extra:
        rods.append(da.holonomic(2 * xs[0] ** 2 + 2 * ys[0] ** 2 - 2, name="again"))
    system = da.System(
        q, kinetic=sum(c.dot**2 for c in q) / 2, potential=9.81 * sum(ys), constraints=rods
    )
    start = {x: k + 0.6 for k, x in enumerate(xs)} | dict.fromkeys(ys, -0.8)
    return system, start


def test_the_seconds_of_a_run_add_up():
    system, start = four_bars(3)
    for options in ({"method": "dop853"}, {"method": "rattle4", "step": 0.01}):
        told = da.simulate(system, start, (0.0, 0.1), **options).statistics
        assert abs(sum(told[f"{kind}_seconds"] for kind in KINDS) - told["wall_seconds"]) < 1e-6
        assert all(told[f"{kind}_seconds"] >= 0.0 for kind in KINDS)


def test_a_second_run_compiles_nothing_and_reading_is_told():
    system, start = four_bars(2)
    first = da.simulate(system, start, (0.0, 0.1))
    second = da.simulate(system, start, (0.0, 0.1))
    assert second.statistics["compile_seconds"] < first.statistics["compile_seconds"] / 5
    assert "observe_seconds" not in second.statistics
    assert abs(second.energy - second.energy[0]).max() < 1e-9
    assert second.statistics["observe_seconds"] > 0.0


def test_work_inside_other_work_is_counted_once():
    before = clock_reading()
    with work("derive"):
        with work("compile"):
            sum(range(200_000))
        sum(range(1000))
    spent = seconds_since(before)
    assert spent["compile"] > spent["derive"] > 0.0
    assert spent["check"] == spent["start"] == 0.0


def test_the_rank_of_many_rods_is_that_of_few():
    """More than `MOST_DENSE` conditions go the sparse way; a repeated rod is found there too."""
    assert generic_rank(four_bars(3)[0]).rank == 7
    assert generic_rank(four_bars(40)[0]).rank == 81
    assert generic_rank(four_bars(40, extra=True)[0]).rank == 81
