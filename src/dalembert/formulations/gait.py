r"""Gaits: the shape follows a given path, and the group follows the shape.

With r(t) given, the momentum and the reconstruction equations of a reduced system are left:

    p_dot = <l_xi, [xi, e_b] + (d e_b/dr) r_dot> + <F, e_b>,     g_dot = e(g) xi,     xi = -A(r) r_dot + Gamma(r) p

(Bloch 5.9; the shape equations say what the motors must do, and are not needed). Without momentum this is the geometric phase,
xi = -A r_dot: it depends on the path and not on how fast it is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from ..errors import FormError
from ..model.reduced import ReducedSystem
from ..model.symbols import Parameter, as_expression, t
from ..model.system import System
from .blocks import Blocks, Projection
from .equations import Equations
from .reduction import Bundle, Reduced, bundle_of

__all__ = ["follow_shape"]

CITATION = "Momentum and reconstruction equations along a shape path (Bloch et al. section 5.9)"


def follow_shape(
    system: System,
    group: Any,
    shape: Mapping[Any, Any],
    *,
    section: Any = None,
    identity: Mapping[Any, Any] | None = None,
    momentum: bool = True,
) -> Equations:
    """The equations of the group coordinates and the momenta while the shape follows a path.

    Parameters
    ----------
    group, section, identity
        As in `reduce`.
    shape : mapping of shape coordinate to expression of t and parameters
    momentum : bool
        False leaves the momenta at zero: the geometric phase alone.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> board = da.gallery.load("snakeboard").system
    >>> x, y, theta, psi, phi = board.coordinates
    >>> se2 = {"ahead": {x: cos(theta), y: sin(theta)}, "aside": {x: -sin(theta), y: cos(theta)}, "turn": {theta: 1}}
    >>> drive = follow_shape(board, se2, {psi: 0.7*sin(da.t), phi: 0.3*sin(da.t)})
    >>> print(drive.state)
    (x, y, theta, p_1)
    """
    bundle = bundle_of(system, group, section=section, identity=identity)
    path = _path(bundle, shape)
    places = tuple(system.coordinates[k] for k in bundle.group)
    carried = bundle.momenta if momentum else ()
    names = {speed.name: speed for speed in bundle.speeds} | {q.name: q for q in path}
    return Equations(
        system=ReducedSystem(system, places, names),  # type: ignore[arg-type]
        form="gait",
        citation=CITATION,
        state=(*places, *carried),
        unknowns=(*(q.dot for q in places), *(Parameter(f"{p.name}_dot") for p in carried)),
        row_names=(),
        derivation=lambda algebra: _blocks(bundle, algebra, path, momentum),
    )


def _path(bundle: Bundle, shape: Mapping[Any, Any]) -> dict[sympy.Symbol, sympy.Expr]:
    """The path by shape coordinate, every one of them, in t and parameters."""
    given = {str(getattr(key, "name", key)): as_expression(value) for key, value in shape.items()}
    coordinates = [bundle.system.coordinates[k] for k in bundle.shape]
    missing = [q.name for q in coordinates if q.name not in given]
    strange = [name for name in given if name not in {q.name for q in coordinates}]
    moving = sorted(s.name for e in given.values() for s in e.free_symbols if s != t and not isinstance(s, Parameter))
    foreign = sorted(
        {s.name for e in given.values() for s in e.free_symbols if isinstance(s, Parameter)} - _names(bundle.system)
    )
    if missing or strange or moving or foreign:
        raise FormError(
            "A gait gives each shape coordinate as an expression of t and the system's parameters",
            seen="; ".join(
                f"{what} {', '.join(names)}"
                for what, names in (("missing", missing), ("no shape coordinate:", strange), ("contains", [*moving, *foreign]))
                if names
            ),
            remedy=f"give {', '.join(q.name for q in coordinates)}",
        )
    return {q: given[q.name] for q in coordinates}


def _names(system: System) -> set[str]:
    return {parameter.name for parameter in system.parameters}


def _blocks(bundle: Bundle, algebra: Any, path: Mapping[sympy.Symbol, sympy.Expr], momentum: bool) -> Blocks:
    """The rates are known: the metric is the identity."""
    reduced = Reduced(bundle, algebra)
    place, speed = algebra.vector(path.values()), algebra.vector([sympy.diff(value, t) for value in path.values()])
    still = algebra.zeros(len(bundle.momenta))

    def along(block: Any) -> Any:
        block = block if momentum else algebra.substitute(block, reduced.p, still)
        old = algebra.stack([reduced.shape, reduced.shape_velocities])
        return algebra.substitute(block, old, algebra.stack([place, speed]))

    body = along(reduced.body_velocity)
    letters = [bundle.system.coordinates[k] for k in bundle.group]
    group_rates = algebra.vector([q.dot for q in letters])
    carried = bundle.momenta if momentum else ()
    unknowns = algebra.stack([group_rates, algebra.vector([Parameter(f"{p.name}_dot") for p in carried])])
    field = reduced.fields @ body
    momentum_rate = along(reduced.momentum_rate) if momentum else algebra.zeros(0)
    force = algebra.stack([field, momentum_rate])
    size = unknowns.shape[0]
    energy = (
        algebra.inner(algebra.gradient(reduced.lagrangian, reduced.xi), reduced.xi)
        + algebra.inner(algebra.gradient(reduced.lagrangian, reduced.shape_velocities), reduced.shape_velocities)
        - reduced.lagrangian
    )
    acceleration = algebra.along(field, reduced.group, field) + algebra.jacobian(field, reduced.time)
    if momentum:
        acceleration = acceleration + algebra.along(field, reduced.p, momentum_rate)
    nothing = Projection(algebra.zeros(0), algebra.zeros(0, size), algebra.zeros(size, size))
    outputs = {s.name: algebra.part(body, [a], [0]) for a, s in enumerate(bundle.speeds)}
    outputs |= {q.name: algebra.part(place, [a], [0]) for a, q in enumerate(path)}
    return Blocks(
        metric=algebra.jacobian(unknowns, unknowns),
        force=force,
        rows=algebra.zeros(0, size),
        right=algebra.zeros(0),
        unknowns=unknowns,
        multipliers=algebra.zeros(0),
        rates=unknowns,
        velocities=field,
        accelerations=acceleration,
        momenta=algebra.zeros(0),
        energy=along(reduced.here(energy)),
        reactions={},
        position=nothing,
        velocity=nothing,
        residuals=(algebra.zeros(0), algebra.zeros(0)),
        outputs=outputs,
        free=force,
        dual_rows=algebra.zeros(size, 0),
    )
