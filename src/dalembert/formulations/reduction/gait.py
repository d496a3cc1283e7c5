r"""Gaits: the shape follows a given path, and the group follows the shape.

With r(t) given, the momentum and the reconstruction equations of a reduced system are left:

    p_dot = <l_xi, [xi, e_b] + (d e_b/dr) r_dot> + <F, e_b>,     g_dot = e(g) xi,     xi = -A(r)
    r_dot + Gamma(r) p

(Bloch 5.9; the shape equations say what the motors must do, and are not needed). Without momentum
this is the geometric phase, xi = -A r_dot: it depends on the path and not on how fast it is
followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import FormError
from ...geometry.actions import Group
from ...model.reduced_system import ReducedSystem
from ...model.symbols import Coordinate, Parameter, as_expression, t
from ...model.system import System
from ...typing import Values, Vector
from ..blocks import GaussBlocks
from ..equations import Equations
from .bundle_equations import Bundle, ReducedFunctions, bundle_of

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra, Block

__all__ = ["Gait", "follow_shape", "shape_path"]

CITATION = "Momentum and reconstruction equations along a shape path (Bloch et al. section 5.9)"


def follow_shape(
    system: System,
    group: Group,
    shape: Values,
    *,
    section: Sequence[Vector] | None = None,
    identity: Values | None = None,
    momentum: bool = True,
) -> Equations:
    """The equations of the group coordinates and the momenta while the shape follows a path.

    Parameters
    ----------
    group, section, identity
        As in `reduce`.
    shape : mapping of shape coordinate to expression of t and parameters
        Parameters that the system does not have, an amplitude say, are given to `simulate` like
        its own: the equations are derived once for all of them.
    momentum : bool
        False leaves the momenta at zero: the geometric phase alone.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> board = da.gallery.load("snakeboard").system
    >>> x, y, theta, psi, phi = board.coordinates
    >>> se2 = {
    ...     "ahead": {x: cos(theta), y: sin(theta)},
    ...     "aside": {x: -sin(theta), y: cos(theta)},
    ...     "turn": {theta: 1},
    ... }
    >>> drive = follow_shape(board, se2, {psi: 0.7*sin(da.t), phi: 0.3*sin(da.t)})
    >>> print(drive.state)
    (x, y, theta, p_1)
    """
    bundle = bundle_of(system, group, section=section, identity=identity)
    gait = Gait(bundle, shape_path(bundle, shape), momentum)
    places = bundle.group_symbols
    reduced = ReducedSystem(system, places, gait.names, gait, gait.parameters)
    return Equations(
        system=reduced,  # type: ignore[arg-type]
        form="gait",
        citation=CITATION,
        state=(*places, *gait.carried),
        unknowns=gait.rates_of(places),
        row_names=(),
        derivation=gait.blocks,
    )


def shape_path(bundle: Bundle, shape: Values) -> dict[sympy.Symbol, sympy.Expr]:
    """The path by shape coordinate, every one of them, in t and parameters."""
    given = {str(getattr(key, "name", key)): as_expression(value) for key, value in shape.items()}
    coordinates = [bundle.system.coordinates[k] for k in bundle.shape]
    missing = [q.name for q in coordinates if q.name not in given]
    strange = [name for name in given if name not in {q.name for q in coordinates}]
    moving = sorted(
        s.name
        for e in given.values()
        for s in e.free_symbols
        if s != t and not isinstance(s, Parameter)
    )
    if missing or strange or moving:
        raise FormError(
            "A gait gives each shape coordinate as an expression of t and parameters",
            seen="; ".join(
                f"{what} {', '.join(names)}"
                for what, names in (
                    ("missing", missing),
                    ("no shape coordinate:", strange),
                    ("contains", moving),
                )
                if names
            ),
            remedy=f"give {', '.join(q.name for q in coordinates)}",
        )
    return {q: given[q.name] for q in coordinates}


@dataclass(frozen=True)
class Gait:
    """A bundle whose shape follows a path.

    Attributes
    ----------
    bundle : Bundle
    path : mapping of shape coordinate to expression of t and parameters
    momentum : bool
        Whether the momenta are carried along; they are zero otherwise.
    """

    bundle: Bundle
    path: Mapping[sympy.Symbol, sympy.Expr]
    momentum: bool

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the path that the system does not have, by name."""
        known = set(self.bundle.system.parameters)
        symbols = {s for value in self.path.values() for s in value.free_symbols} - known - {t}
        return tuple(sorted(symbols, key=lambda s: str(s.name)))

    @property
    def carried(self) -> tuple[Parameter, ...]:
        """The momenta of the state."""
        return self.bundle.momenta if self.momentum else ()

    @property
    def names(self) -> dict[str, Any]:
        """What a motion reports: body velocities and the shape."""
        return {speed.name: speed for speed in self.bundle.speeds} | {q.name: q for q in self.path}

    def rates_of(self, places: Sequence[Coordinate]) -> tuple[sympy.Symbol, ...]:
        """The symbols of the rates of some coordinates and of the momenta."""
        return (*(q.dot for q in places), *(Parameter(f"{p.name}_dot") for p in self.carried))

    def along(self, reduced: ReducedFunctions, block: Block) -> Block:
        """A block of (r, r_dot, p) on the path, in t and p."""
        algebra = reduced.algebra
        if not self.momentum:
            block = algebra.substitute(block, reduced.p, algebra.zeros(len(self.bundle.momenta)))
        place = algebra.vector(self.path.values())
        speed = algebra.vector([sympy.diff(value, t) for value in self.path.values()])
        old = algebra.stack([reduced.shape, reduced.shape_velocities])
        return algebra.substitute(block, old, algebra.stack([place, speed]))

    def blocks(self, algebra: Algebra) -> GaussBlocks:
        """The rates of the group coordinates and of the momenta."""
        reduced = ReducedFunctions(self.bundle, algebra)
        field = reduced.fields @ self.along(reduced, reduced.body_velocity)
        return self.carrying(reduced, self.bundle.group_symbols, field)

    def carrying(
        self, reduced: ReducedFunctions, places: Sequence[Coordinate], field: Block
    ) -> GaussBlocks:
        """The record for coordinates `places` with the velocities `field`, and for the momenta."""
        algebra = reduced.algebra
        momentum_rate = (
            self.along(reduced, reduced.momentum_rate) if self.momentum else algebra.zeros(0)
        )
        acceleration = algebra.along(field, algebra.vector(places), field) + algebra.jacobian(
            field, reduced.time
        )
        if self.momentum:
            acceleration = acceleration + algebra.along(field, reduced.p, momentum_rate)
        body, shape = (
            self.along(reduced, block) for block in (reduced.body_velocity, reduced.shape)
        )
        outputs = {s.name: algebra.part(body, [a], [0]) for a, s in enumerate(self.bundle.speeds)}
        outputs |= {q.name: algebra.part(shape, [a], [0]) for a, q in enumerate(self.path)}
        energy = self.along(reduced, reduced.here(reduced.energy))
        rates = algebra.vector(self.rates_of(places))
        found = GaussBlocks.of_rates(
            algebra,
            rates,
            algebra.stack([field, momentum_rate]),
            velocities=field,
            accelerations=acceleration,
            energy=energy,
            outputs=outputs,
        )
        minors = reduced.section_minors
        return found if minors is None else replace(found, section=self.along(reduced, minors))
