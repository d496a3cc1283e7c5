"""A motion in a few lines, for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from ..model.energy_changes import energy_changes
from ..typing import Array

if TYPE_CHECKING:
    from ..integrate.motion import Motion

__all__ = ["summary"]

#: Rows of the table of final values.
MOST_ROWS = 24


def summary(motion: Motion, written: Sequence[Path]) -> list[Any]:
    """What was simulated, from which start, how it ended, how well the laws were kept, and the
    final state.
    """
    statistics, scenario = motion.statistics, motion.scenario
    parts: list[Any] = [Text(motion.system.name, style="bold")]
    if scenario is not None and scenario.source:
        parts.append(Text(scenario.source, style="dim"))
    first, last = statistics.get("span") or (
        motion.segments[0].step_t[0],
        motion.segments[-1].step_t[-1],
    )
    control = (
        f"step {statistics['step']:g}" if "step" in statistics else f"rtol {statistics['rtol']:g}"
    )
    asked = (
        f"t = {first:.6g} to {last:.6g}, form {statistics['form']}, method {statistics['method']},"
        f" {control}"
    )
    lines = [("simulated", asked)]
    lines += [("method", statistics["method_reason"])] if "method_reason" in statistics else []
    lines += [("start", sentence) for sentence in motion.start_report]
    lines.append(("outcome", motion.message if motion.success else motion.outcome.value))
    if motion.impacts:
        times = ", ".join(f"{time:.6g}" for time, _ in motion.impacts[:6])
        lines.append(
            (
                "impacts",
                f"{len(motion.impacts)}, at t ="
                f" {times}{', ...' if len(motion.impacts) > 6 else ''}",
            )
        )
    lines += _laws(motion)
    spent = ", ".join(
        f"{statistics[f'{key}_seconds']:.3f} s to {key}"
        for key in ("derive", "compile", "integrate")
    )
    lines.append(
        (
            "effort",
            f"{statistics['steps']} steps, {statistics['rejected']} rejected, {motion.nfev}"
            f" evaluations; {spent}",
        )
    )
    lines += [("written", str(path)) for path in written]
    parts.append(_labelled(lines))
    return [*parts, _final_table(motion)] if len(motion.t) else parts


def _laws(motion: Motion) -> list[tuple[str, str]]:
    """Energy and residuals."""
    lines = []
    energy = (
        motion.energy[np.isfinite(motion.energy)]
        if len(motion.t) and "energy" in motion.names
        else np.zeros(0)
    )
    if energy.size:
        drift, causes = np.max(np.abs(energy - energy[0])), energy_changes(motion.system)
        how = f"at most {drift:.2g} apart"
        if causes:
            is_balanced = "constraints" not in causes and "impacts" not in causes
            how = (
                f"changes by up to {drift:.2g}, as {causes} may make"
                f" it{' (see energy_balance)' if is_balanced else ''}"
            )
        lines.append(
            ("energy", f"{energy[0]:.9g} at the start, {energy[-1]:.9g} at the end, {how}")
        )
    worst = motion.worst_residual
    if motion.residuals.velocity:
        lines.append(
            (
                "residuals",
                f"position {worst['position']:.2g}, velocity {worst['velocity']:.2g} at worst",
            )
        )
    return lines


def _labelled(lines: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in lines:
        table.add_row(label, Text(text))
    return table


def _final_table(motion: Motion) -> Table:
    """Start and end of everything, with velocities beside their coordinates."""
    system = motion.system
    with_momenta = system.is_hamiltonian
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    collected = ["", f"t = {motion.t[0]:.6g}", f"t = {motion.t[-1]:.6g}", "velocity"] + [
        "momentum"
    ] * with_momenta
    for place, head in enumerate(collected):
        table.add_column(head, justify="left" if place == 0 else "right", no_wrap=True)
    rows: list[list[str]] = []
    for q in system.coordinates:
        rows.append([q.name, *_ends(motion[q.name]), _figure(motion[q.dot.name][-1])])
        if with_momenta:
            rows[-1].append(_figure(motion[q.momentum.name][-1]))
    known = {*system.coordinates, *system.velocities, *system.momenta}
    further = [symbol.name for symbol in motion.state if symbol not in known]
    further += motion.own_names
    further += [*system.outputs, *(symbol.name for symbol in system.inputs)]
    rows += [[name, *_ends(motion[name])] for name in further]
    for row in rows[:MOST_ROWS]:
        table.add_row(*(Text(cell) for cell in row))
    if len(rows) > MOST_ROWS:
        table.add_row(Text(f"... and {len(rows) - MOST_ROWS} more"))
    return table


def _ends(values: Array) -> tuple[str, str]:
    return _figure(values[0]), _figure(values[-1])


def _figure(value: float) -> str:
    return f"{value + 0.0:.9g}"
