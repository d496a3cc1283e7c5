r"""The geometric and the dynamic factor of a reconstruction, carried along with it.

The horizontal lift g_h of a shape path and the factor d that is left move by

    g_h^-1 g_h_dot = -A(r) r_dot,      d^-1 d_dot = Ad_{g_h} (Gamma(r) p + what affine constraints
    prescribe),      g = d g_h

because g^-1 g_dot = Ad_{g_h}^-1 (d^-1 d_dot) + g_h^-1 g_h_dot (Bloch, Supplement 5.5, with xi = -A
r_dot + Gamma p of 5.8). All three elements move on one clock here, each by its own equation; that g
= d g_h is not used, and can be checked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sympy

from ...model.reduced_system import ReducedSystem
from ...model.symbols import Coordinate, Parameter
from ..blocks import GaussBlocks, Projection
from ..equations import Equations
from .gait import Gait
from .reduced_functions import Bundle, ReducedFunctions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...algebra.protocol import Algebra, Block

__all__ = ["dynamic_symbols", "factor_equations", "geometric_symbols"]

CITATION = "Reconstruction with its horizontal lift (Bloch et al. sections 5.5, 5.9)"


def geometric_symbols(bundle: Bundle) -> tuple[Coordinate, ...]:
    """The coordinates of g_h: x_geometric for x."""
    return tuple(Coordinate(f"{q.name}_geometric") for q in bundle.group_symbols)


def dynamic_symbols(bundle: Bundle) -> tuple[Coordinate, ...]:
    """The coordinates of d: x_dynamic for x."""
    return tuple(Coordinate(f"{q.name}_dynamic") for q in bundle.group_symbols)


def factor_equations(model: Bundle | Gait) -> Equations:
    """The equations of a reduced system, or of a gait, that carry g, g_h and d along.

    Raises
    ------
    ModelError
        Where the group coordinates are not of the second kind, so that Ad has no closed form.
    """
    bundle = model.bundle if isinstance(model, Gait) else model
    places = (*bundle.group_symbols, *geometric_symbols(bundle), *dynamic_symbols(bundle))
    if isinstance(model, Gait):
        return _record(
            bundle,
            places,
            model.names,
            model.carried,
            model.rates_of(places),
            lambda a: _gait_blocks(model, a),
            model.parameters,
        )
    shape = bundle.shape_symbols
    unknowns = (*(q.ddot for q in shape), *(Parameter(f"{p.name}_dot") for p in bundle.momenta))
    names = {speed.name: speed for speed in bundle.speeds}
    carried = (*(q.dot for q in shape), *bundle.momenta)
    return _record(
        bundle, (*shape, *places), names, carried, unknowns, lambda a: _reduced_blocks(bundle, a)
    )


def _record(
    bundle: Bundle,
    places: tuple[Coordinate, ...],
    names: Mapping[str, sympy.Expr],
    carried: tuple[sympy.Symbol, ...],
    unknowns: tuple[sympy.Symbol, ...],
    derivation: Callable[[Algebra], GaussBlocks],
    parameters: tuple[Parameter, ...] = (),
) -> Equations:
    model: Any = ReducedSystem(bundle.system, places, names, further_parameters=parameters)
    return Equations(
        system=model,
        form="phase-factors",
        citation=CITATION,
        state=(*places, *carried),
        unknowns=unknowns,
        row_names=(),
        derivation=derivation,
    )


def _velocities(bundle: Bundle, algebra: Algebra, body: Block, level: Block) -> Block:
    """The rates of (g, g_h, d), (3k x 1), for the body velocity xi and its horizontal part."""
    geometric, dynamic = geometric_symbols(bundle), dynamic_symbols(bundle)
    turned = _matrix(bundle, algebra, bundle.group_coordinates.adjoint, geometric)
    return algebra.stack(
        [
            _frame(bundle, algebra, bundle.group_symbols) @ body,
            _frame(bundle, algebra, geometric) @ level,
            _frame(bundle, algebra, dynamic) @ (turned @ (body - level)),
        ]
    )


def _frame(bundle: Bundle, algebra: Algebra, symbols: tuple[Coordinate, ...]) -> Block:
    return _matrix(bundle, algebra, bundle.group_coordinates.frame, symbols)


def _matrix(
    bundle: Bundle, algebra: Algebra, matrix: sympy.MatrixBase, symbols: tuple[Coordinate, ...]
) -> Block:
    """A matrix of the group coordinates, taken at other symbols."""
    moved = matrix.xreplace(dict(zip(bundle.group_symbols, symbols, strict=True)))
    return algebra.columns([algebra.vector(moved.col(a)) for a in range(moved.cols)])


def _level(reduced: ReducedFunctions) -> Any:
    """-A(r) r_dot, (k x 1)."""
    if not reduced.bundle.shape:
        return reduced.algebra.zeros(len(reduced.bundle.group))
    return -(reduced.connection @ reduced.shape_velocities)


def _gait_blocks(gait: Gait, algebra: Algebra) -> GaussBlocks:
    bundle, reduced = gait.bundle, ReducedFunctions(gait.bundle, algebra)
    body, level = (gait.along(reduced, block) for block in (reduced.body_velocity, _level(reduced)))
    places = (*bundle.group_symbols, *geometric_symbols(bundle), *dynamic_symbols(bundle))
    return gait.carrying(reduced, places, _velocities(bundle, algebra, body, level))


def _reduced_blocks(bundle: Bundle, algebra: Algebra) -> GaussBlocks:
    """The record of the reduced system with three more places of the group."""
    reduced = ReducedFunctions(bundle, algebra)
    alone = reduced.blocks(reconstruct=False)
    carried = _velocities(bundle, algebra, reduced.body_velocity, _level(reduced))
    symbols = algebra.vector(
        [*bundle.group_symbols, *geometric_symbols(bundle), *dynamic_symbols(bundle)]
    )
    pushed = reduced.rate(carried) + algebra.along(carried, symbols, carried)
    velocities = algebra.stack([alone.velocities, carried])
    n, size = velocities.shape[0], alone.unknowns.shape[0]
    nothing = Projection(algebra.zeros(0), algebra.zeros(0, size), algebra.zeros(n + size, size))
    return replace(
        alone,
        rates=algebra.stack([velocities, alone.unknowns]),
        velocities=velocities,
        accelerations=algebra.stack([alone.accelerations, pushed]),
        position=nothing,
        velocity=nothing,
    )
