r"""Boundary problems of flows of places and costates: rotations, spheres, orbits of groups.

Flows such as `rigid_body`, `sphere_flow`, `grassmannian_flow` and `orbit_flow` are already those of
Pontryagin's principle,

    x_dot = K(x) c,      c_dot = ...        (Bloch and others, Supplement, 7.7.2 to 7.7.36)

with a place x, the entries of a matrix, and a costate c. `optimal_on_group` finds the c(t0) that
leads from one place to another. What K(x) does not feel in c is left at zero, so that redundant
symbols do no harm. The end condition is x(t1) = x_T in the entries, and for rotations log(Q_T^T
Q(t1)) = 0 in the Lie algebra. The search begins from geodesics of the bi-invariant metric, short
ways and long ways, and is led by continuation where Newton's method fails.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...typing import ArrayLike, Expression, Values
from .extremal import Branch, ControlExtremal, raise_unconverged
from .first_guesses import guesses, reach
from .group_conjugate_points import along_arc
from .group_problem import GroupProblem
from .shooting import Shot
from .spans import read_span

__all__ = ["optimal_on_group"]

#: How often guesses are made before the search ends, or accepts an extremal that is no minimum.
ROUNDS = 3


def optimal_on_group(
    flow: Flow,
    start: ArrayLike,
    end: ArrayLike,
    span: Sequence[float],
    *,
    place: str | None = None,
    cost: Expression | None = None,
    parameters: Values | None = None,
    easy: Values | None = None,
    guess: ArrayLike | None = None,
    ways: int = 4,
    seed: int = 0,
) -> ControlExtremal:
    """The cheapest extremal found between two places of a flow of places and costates.

    Parameters
    ----------
    flow : Flow
        Such as ``da.lie.rigid_body([1, 2, 3])``: the matrix of the place moves linearly in the
        remaining symbols, its costates.
    start, end : matrices
        Values of the place.
    place : str
        The name of the place among the matrices of the flow; the first one by default.
    cost : expression
        The integrand in symbols of the flow. By default the integral ``"energy"``, the cost where
        there is no potential.
    parameters : mapping of symbol or name to value
    easy : mapping of symbol or name to value
        Parameters at which the motion is known to be easy, such as equal inertias: where the search
        fails at those wanted it is led from these. Without it the end is moved from where the guess
        arrives to where it should.
    guess : array (number of costates,)
        Costates at the start; the only way that is then tried.
    ways : int
        How many first guesses are followed; the cheapest extremal is returned, the others are
        listed. Where none converged, or the cheapest has a conjugate point on its way, as many
        random ones are followed as well, twice.
    seed : int
        Of random guesses.

    Raises
    ------
    StartError
        For ends that break constraints of the flow, or lie on different orbits.
    RunError
        Where no way converged.

    Examples
    --------
    >>> import dalembert as da
    >>> quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    >>> found = optimal_on_group(da.lie.rigid_body([0.5, 0.5, 0.5]), np.eye(3), quarter, (0, 1))
    >>> round(found.cost, 9), round((np.pi/2)**2/2, 9)
    (1.23370055, 1.23370055)
    """
    times = read_span(span)
    problem = GroupProblem.read(flow, start, end, place, cost, parameters, times)
    tried: list[tuple[Branch, Shot]] = []
    found: ControlExtremal | None = None
    for number in range(1 if guess is not None else ROUNDS):
        for name, unknowns in guesses(problem, guess, ways, seed, number):
            shot = reach(problem, unknowns, easy)
            if shot is not None:
                tried.append((Branch(name, shot.cost, shot.residual), shot))
        tried.sort(key=lambda pair: pair[0].rank)
        if tried and tried[0][0].converged:
            found = _extremal(problem, tried)
            if found.is_minimum:
                break
    if found is None:
        remedy = "try more ways, another seed or guess, or easy={...} to be led from"
        raise_unconverged(tried, "No extremal was found between the two places", remedy)
    return found


def _extremal(problem: GroupProblem, tried: Sequence[tuple[Branch, Shot]]) -> ControlExtremal:
    """The record of the first way; its residual includes that of the place in its entries."""
    branch, shot = tried[0]
    flow, span, index, arcs = problem.flow, problem.span, problem.place_index, problem.arcs
    names, node = [symbol.name for symbol in flow.coordinates], shot.nodes[0]
    start = dict(zip(names, node.tolist(), strict=True))
    motion = simulate(flow, start, span, parameters=problem.table, rtol=1e-11)
    directions = problem.boundary.directions
    arrived = arcs.run(*span, node, directions).state[index]
    search = along_arc(arcs, node, directions, problem.tangent, span[0], index)
    return ControlExtremal(
        flow=flow,
        motion=motion,
        span=span,
        cost=shot.cost,
        costates={names[k]: float(node[k]) for k in problem.costate_index},
        residual=max(shot.residual, float(np.max(np.abs(arrived - problem.end_vector)))),
        conjugate_points=search(span[1]),
        steps=shot.steps,
        branch=branch.name,
        branches=tuple(way for way, _ in tried),
        search=search,
    )
