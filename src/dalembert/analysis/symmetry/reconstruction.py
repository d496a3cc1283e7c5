r"""Reconstruction: g_dot = e(g) xi with xi = -A(r) r_dot + Gamma(r) p (Bloch 5.5, 5.9.37)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError, nearest
from ...formulations.reduction.bundle_equations import Bundle, equations_on
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.parameter_values import parameter_values
from ...model.reduced_system import ReducedSystem
from ...model.values import numbers_by_name
from ...runtime.kernel import kernel_of
from ...typing import Values

__all__ = ["reconstruct"]


def reconstruct(motion: Motion, start: Values | None = None) -> Motion:
    """The motion of the whole system that a reduced motion belongs to.

    Parameters
    ----------
    motion : Motion
        Of equations made with `reduce`.
    start : mapping of group coordinate to value
        Where on the group the motion begins; the identity for what is not given.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> sleigh = da.gallery.load("chaplygin-sleigh")
    >>> x, y, theta = sleigh.system.coordinates
    >>> se2 = {
    ...     "ahead": {x: cos(theta), y: sin(theta)},
    ...     "aside": {x: -sin(theta), y: cos(theta)},
    ...     "turn": {theta: 1},
    ... }
    >>> equations = da.symmetry.reduce(sleigh.system, se2)
    >>> start, values = {"p_1": 1.0, "p_2": 0.5}, sleigh.parameters
    >>> reduced = da.simulate(equations, start, (0, 2), parameters=values)
    >>> whole = reconstruct(reduced, {x: 3.0})
    >>> float(whole["x"][0]), bool(abs(whole.energy[-1] - reduced.energy[0]) < 1e-9)
    (3.0, True)
    """
    reduced: Any = motion.system
    if not isinstance(reduced, ReducedSystem) or not isinstance(reduced.bundle, Bundle):
        what = "Only a motion of reduced equations can be reconstructed"
        remedy = "simulate da.symmetry.reduce(system, group)"
        raise ModelError(what, f'a motion in the form "{motion.equations.form}"', remedy)
    bundle = reduced.bundle
    system = bundle.system
    equations = equations_on(bundle, reconstruct=True)
    kernel = kernel_of(equations, system.parameters)
    values = {q.name: float(value) for q, value in bundle.identity.items()}
    for name, value in numbers_by_name(start).items():
        if name not in values:
            near = nearest(name, values)
            known = "use one of these; the shape starts where the reduced motion did"
            remedy = f"did you mean {near}" if near else known
            raise ModelError(f"The group has no coordinate `{name}`", ", ".join(values), remedy)
        values[name] = value
    values |= {symbol.name: float(motion[symbol.name][0]) for symbol in motion.equations.state}
    state = np.array([[values[symbol.name] for symbol in equations.state]])
    begin, end = float(motion.t[0]), float(motion.t[-1])
    numbers = parameter_values(system.parameters, motion.parameters)
    velocities = kernel.velocities(np.array([begin]), state, numbers)[0]
    first = {q.name: values[q.name] for q in system.coordinates}
    first |= {v.name: float(value) for v, value in zip(system.velocities, velocities, strict=True)}
    rtol = float(motion.statistics.get("rtol", 1e-10))
    options: dict[str, Any] = {"parameters": motion.parameters, "rtol": rtol}
    whole: Motion = simulate(equations, first, (begin, end), at=np.asarray(motion.t), **options)
    return whole
