r"""Reduction by a symmetry group: the Lagrange-d'Alembert-Poincare equations on D/G.

A trivial bundle Q = S x G has shape coordinates r and group coordinates g with g_dot = e(g) xi, xi
the body velocity. With the Lagrangian l(r, r_dot, xi) and the constraints a_xi(r) xi + a_r(r) r_dot
+ a_0(r) = 0 at the identity, and a frame e_b(r) of the body velocities that they allow at rest of
the shape (the section of g^D),

    p_b = <l_xi, e_b>,     p_dot_b = <l_xi, [xi, e_b] + (d e_b/dr) r_dot> + <F, e_b>
    (Bloch 5.8, 5.9.52) d/dt l_rdot - l_r - A^T (d/dt l_xi - ad*_xi l_xi) = F_r - A^T F

with xi(r, r_dot, p) = -A(r) r_dot + Gamma(r) p (+ what an affine constraint prescribes), which
solves

    [ a_xi ; e^T l_xixi ] xi = [ -a_r r_dot - a_0 ; p - e^T (l_xir r_dot + ...) ],

so that A is the nonholonomic connection: the mechanical one without constraints, the kinematic one
where they leave no momentum. The group coordinates do not occur. With ``reconstruct=True`` they are
carried along, g_dot = e(g) xi, and the motion is that of the whole system.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.structure import Verdict, numeric_rank
from ...algebra.tree_derivatives import partial_derivative
from ...errors import FormError
from ...geometry.actions import Group
from ...geometry.lie import LieGroup
from ...model.reduced_system import ReducedSystem
from ...model.symbols import Parameter, as_expression
from ...model.system import System
from ...typing import Values, Vector
from ..equations import Equations
from .group_frame import CLOSED, given_frame, structure_constants
from .kernel_frame import kernel_frame
from .reduced_functions import Bundle, ReducedFunctions

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra, Block

__all__ = ["Bundle", "ReducedFunctions", "bundle_of", "equations_on", "reduce"]

CITATION = "Lagrange-d'Alembert-Poincare equations (Bloch et al. sections 5.8, 5.9)"

ZERO = sympy.Integer(0)
#: The dimension assumption (Bloch 5.5.24).
SPANNED = "the allowed directions and the group orbits span all directions"


def reduce(
    system: System,
    group: Group,
    *,
    section: Sequence[Vector] | None = None,
    identity: Values | None = None,
    reconstruct: bool = False,
) -> Equations:
    """The equations of a system on D/G.

    Parameters
    ----------
    group : mapping of speed name to a mapping of coordinate to component, GroupAction, chart, or
    Symmetries
        Left-invariant vector fields on the group coordinates, one for each of them: q_dot = sum of
        speed times field. A `GroupAction` gives its body velocities, xi_x for the generator e_x,
        where it is free and moves as many coordinates as its dimension; so do `LieGroup.chart` and
        what `discover_symmetries` returns, with all of its group.
    section : sequence of m body velocities, each with k components
        e_b(r), written in shape coordinates and parameters; found where it is not given.
        It must stay independent at every shape that a motion reaches; a motion ends as singular
        where it does not.
    identity : mapping of group coordinate to number
        Where the reduced functions are taken; zero by default.
    reconstruct : bool
        Carry the group coordinates along.

    Constraints may bind the shape as well, so that D and the orbits do not span all directions
    (Bloch 5.5.24 fails). The shape then keeps constraints of its own, with multipliers `mu_`, and
    `hypotheses` says how many directions of the base are left.

    Raises
    ------
    FormError
        Where the Lagrangian, the constraints or the forces are not invariant, or an action has no
        body velocities in these coordinates.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> sleigh = da.gallery.load("chaplygin-sleigh").system
    >>> x, y, theta = sleigh.coordinates
    >>> se2 = {
    ...     "ahead": {x: cos(theta), y: sin(theta)},
    ...     "aside": {x: -sin(theta), y: cos(theta)},
    ...     "turn": {theta: 1},
    ... }
    >>> print(reduce(sleigh, se2).state)
    (p_1, p_2)
    >>> fields = {"e_x": {x: 1}, "e_y": {y: 1}, "e_th": {x: -y, y: x, theta: 1}}
    >>> plane = da.symmetry.GroupAction(sleigh, da.lie.LieGroup.SE(2), generators=fields)
    >>> print(list(reduce(sleigh, plane).system.outputs))
    ['xi_x', 'xi_y', 'xi_th']
    """
    bundle = bundle_of(system, group, section=section, identity=identity, bound_shape=True)
    return equations_on(bundle, reconstruct)


def equations_on(bundle: Bundle, reconstruct: bool) -> Equations:
    """The record of a bundle: without the group, or with it."""
    system = bundle.system
    if not reconstruct:
        _check_laws(bundle)
    shape = tuple(system.coordinates[k] for k in bundle.shape)
    momentum_rates = tuple(Parameter(f"{p.name}_dot") for p in bundle.momenta)
    outputs = {speed.name: speed for speed in bundle.speeds}
    model: Any = system if reconstruct else ReducedSystem(system, shape, outputs, bundle)
    places = system.coordinates if reconstruct else shape
    return Equations(
        system=model,
        form="lagrange-dalembert-poincare",
        citation=CITATION,
        state=(*places, *(q.dot for q in shape), *bundle.momenta),
        unknowns=(*(q.ddot for q in shape), *momentum_rates),
        row_names=bundle.shape_row_names,
        derivation=lambda algebra: ReducedFunctions(bundle, algebra).blocks(reconstruct),
        start_form="lagrange" if reconstruct else None,
        hypotheses=bundle.hypotheses,
    )


# -- the bundle ------------------------------------------------------------------------------------


def bundle_of(
    system: System,
    group: Any,
    *,
    section: Sequence[Vector] | None = None,
    identity: Values | None = None,
    bound_shape: bool = False,
) -> Bundle:
    """A system with its group, every hypothesis of the reduction checked.

    `bound_shape` accepts constraints that bind the shape as well.
    """
    if system.image is not None or system.unilateral:
        raise FormError(
            "Reduction needs two-sided constraints on velocities",
            remedy="state the constraints as velocity(...)",
        )
    on_positions = [c.name for c in system.bilateral if c.is_position_level]
    if on_positions:
        raise FormError(
            "Reduction does not take constraints on positions",
            seen=", ".join(on_positions),
            remedy="eliminate a coordinate, or state the constraint by velocities",
        )
    frame = given_frame(system, group, identity)
    constants, closing = structure_constants(system, frame)
    if constants is None:
        raise FormError(
            "The vector fields of the group do not close with constant coefficients",
            seen=", ".join(frame.fields),
            remedy="give left-invariant fields of a Lie group",
        )
    places = frame.places(system)
    by_name = {str(getattr(k, "name", k)): as_expression(v) for k, v in (identity or {}).items()}
    unit = {system.coordinates[k]: by_name.get(system.coordinates[k].name, ZERO) for k in places}
    shape = tuple(k for k in range(len(system.coordinates)) if k not in places)
    turned = {s for field in frame.fields.values() for entry in field for s in entry.free_symbols}
    bent = [system.coordinates[k].name for k in shape if system.coordinates[k] in turned]
    if bent:
        raise FormError(
            "The vector fields of the group must not depend on the shape",
            seen=", ".join(bent),
            remedy=(
                "give fields of the group coordinates alone, or choose coordinates in which there"
                " are such"
            ),
        )
    bare = Bundle(system, frame, constants, places, shape, unit, sympy.zeros(len(places), 0), ())
    hypotheses = {**frame.hypotheses, CLOSED: closing, **_check_invariance(bare)}
    rows, found, further = _section(bare, section is None, bound_shape)
    if further:
        left = f"the constraints leave {len(shape) - len(further)} of {len(shape)} directions"
        grounds = f"{left} of the base: {len(further)} bind the shape alone"
        hypotheses[SPANNED] = Verdict("refuted", grounds)
    if section is not None:
        found = sympy.Matrix([[as_expression(value) for value in column] for column in section]).T
        hypotheses["the section spans the body velocities that the constraints allow"] = (
            _check_section(bare, rows, found)
        )
    known = getattr(group, "group", None)
    matrices = known if isinstance(known, LieGroup) and known.dimension == len(places) else None
    return Bundle(
        system, frame, constants, places, shape, unit, found, rows, matrices, hypotheses, further
    )


def _check_invariance(bundle: Bundle) -> dict[str, Verdict]:
    """L, the forces and the constraints must not depend on where on the group they are taken."""
    verdicts = {}
    algebra = GraphAlgebra()
    there = ReducedFunctions(bundle, algebra, at_identity=False)
    places = [bundle.system.coordinates[k] for k in bundle.group]
    g = algebra.vector(places)
    for what, block in {"Lagrangian is": there.lagrangian, "forces are": there.force}.items():
        found = algebra.independence(block, g)
        if not found.holds_to_rounding:
            raise FormError(
                f"The {what} not {'' if found.is_refuted else 'shown to be '}invariant under the"
                " group",
                seen=f"{', '.join(q.name for q in places)}: {found.grounds}",
                remedy="choose a subgroup that leaves it invariant, see discover_symmetries",
            )
        verdicts[f"the {what} invariant under the group"] = found
    if there.residual.numel():
        velocities = algebra.stack([there.shape_velocities, there.xi])
        if algebra.without(algebra.jacobian(there.residual, velocities), velocities) is None:
            raise FormError(
                "Reduction needs constraints that are affine in the velocities",
                seen="a constraint that is not shown to be affine in them",
                remedy='use the form "voronets"',
            )
        rows = _affine_rows(algebra, there.residual, velocities)
        elsewhere = algebra.substitute(
            rows, g, algebra.vector([sympy.Dummy(q.name, real=True) for q in places])
        )
        both, one = algebra.rank(algebra.stack([rows, elsewhere])), algebra.rank(rows)
        found = both.is_at_most(one.value)
        if not found.holds_to_rounding:
            raise FormError(
                "The constraints are not"
                f" {'' if both.value > one.at_most else 'shown to be '}invariant under the group",
                seen=", ".join(c.name for c in bundle.system.bilateral),
                remedy="choose a subgroup that leaves them invariant",
            )
        verdicts["the constraints are invariant under the group"] = found
    return verdicts


def _check_laws(bundle: Bundle) -> None:
    """Refuse inputs whose law reads where on the group the system is, or how it moves there."""
    symbols = {s for q in bundle.group_symbols for s in (q, q.dot)}
    used = {
        u.name: law.free_symbols & symbols
        for u, law in bundle.system.inputs.items()
        if law is not None
    }
    for name, found in used.items():
        if found:
            raise FormError(
                f"The law of the input `{name}` reads symbols of the group, which the reduced"
                " equations do not have",
                seen=", ".join(sorted(s.name for s in found)),
                remedy="pass reconstruct=True, or write what the law stands for into the forces",
            )


def _affine_rows(algebra: Algebra, residual: Block, symbols: Block) -> Block:
    """[a, a_0] of a residual a @ symbols + a_0."""
    shift = algebra.substitute(residual, symbols, algebra.zeros(symbols.shape[0]))
    return algebra.columns([algebra.jacobian(residual, symbols), shift])


def _section(
    bundle: Bundle, search: bool, bound_shape: bool
) -> tuple[tuple[int, ...], sympy.Matrix, tuple[int, ...]]:
    """Independent rows of a_xi, a frame of its kernel, and rows that bind the shape besides."""
    from ...algebra.tree import TreeAlgebra

    k = len(bundle.group)
    algebra = GraphAlgebra()
    reduced = ReducedFunctions(bundle, algebra)
    if not reduced.residual.numel():
        return (), sympy.eye(k), ()
    derivative = algebra.jacobian(reduced.residual, reduced.xi)
    whole = algebra.columns(
        [derivative, algebra.jacobian(reduced.residual, reduced.shape_velocities)]
    )
    rank, both = algebra.rank(derivative).value, algebra.rank(whole).value
    if both > rank and not bound_shape:
        raise FormError(
            "The constraints also bind the shape: D and the group orbits do not span all directions"
            " (Bloch 5.5)",
            seen=f"rank {both} of the constraints, {rank} of them on the group",
            remedy=(
                "choose a larger group, so that its orbits and the allowed directions span all of"
                " them, or use da.symmetry.reduce, which keeps constraints of the shape"
            ),
        )
    sample = _generic(algebra, derivative)
    rows: list[int] = []
    for place in range(sample.shape[0]):
        if len(rows) < rank and numeric_rank(sample[[*rows, place]]) == len(rows) + 1:
            rows.append(place)
    wide, further = _generic(algebra, whole), list[int]()
    for place in range(wide.shape[0]):
        kept = [*rows, *further]
        if place not in rows and numeric_rank(wide[[*kept, place]]) == len(kept) + 1:
            further.append(place)
    if not search:
        return tuple(rows), sympy.zeros(k, 0), tuple(further)
    tree = ReducedFunctions(bundle, TreeAlgebra())
    written = tree.algebra.jacobian(tree.residual, tree.xi).extract(rows, list(range(k)))
    frame = kernel_frame(written, sample[rows], bundle.shape_symbols, _inertia(tree))
    return tuple(rows), frame, tuple(further)


def _inertia(tree: ReducedFunctions) -> list[sympy.Expr]:
    """The inertia of each body velocity, a function of the shape; 1 for each where it is not."""
    momenta = tree.algebra.gradient(tree.lagrangian, tree.xi)
    pairs = zip(momenta, tree.xi, strict=True)
    found = [simplify(partial_derivative(momentum, velocity)) for momentum, velocity in pairs]
    known = {*tree.bundle.shape_symbols, *tree.bundle.system.parameters}
    return (
        found
        if all(m != 0 and m.free_symbols <= known for m in found)
        else [sympy.Integer(1)] * len(found)
    )


def _generic(algebra: GraphAlgebra, matrix: Block) -> Any:
    import casadi as ca

    function = ca.Function("rows", list(algebra.symbols.values()), [ca.densify(matrix)])
    values = np.random.default_rng(9).uniform(0.3, 1.1, len(algebra.symbols))
    return np.asarray(function.call(list(values))[0], dtype=float)


def _check_section(bundle: Bundle, rows: tuple[int, ...], section: sympy.Matrix) -> Verdict:
    algebra = GraphAlgebra()
    reduced = ReducedFunctions(bundle, algebra)
    k = len(bundle.group)
    columns = algebra.columns([algebra.vector(section.col(b)) for b in range(section.shape[1])])
    free = k - len(rows)
    fits = section.shape == (k, free) and algebra.rank(columns).value == free
    found = (
        algebra.vanishing(algebra.jacobian(reduced.residual, reduced.xi) @ columns)
        if fits
        else None
    )
    if found is None or not found.holds_to_rounding:
        raise FormError(
            "The section does not span the body velocities that the constraints allow",
            seen=f"{section.shape[1]} columns of {section.shape[0]} components",
            remedy=(
                f"give {free} independent ones with {k} components, in shape coordinates and"
                " parameters"
            ),
        )
    return found
