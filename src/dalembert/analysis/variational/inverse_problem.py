r"""The inverse problem of mechanics: are given second-order equations Euler's equations of a Lagrangian, and of which?

They are as they stand where Helmholtz's conditions hold (`helmholtz_conditions.py`), and then L follows by quadratures
(`lagrangian_recovery.py`). Where they fail, the equations may still be equivalent to Euler's equations: multiplied by a regular
matrix they may obey the conditions (`variational_multipliers.py`), as a damped oscillator does when multiplied by exp(c t / m).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from ...algebra.tree import TreeAlgebra
from ...errors import ModelError
from ...formulations.equations import Equations
from ...formulations.registry import derive
from ...model.symbols import Acceleration, Coordinate, Momentum, Speed, Velocity, as_expression, t
from ...model.system import System
from ...typing import Expression, Matrix, Symbols
from ..proofs.bounded import PROVED, exact
from ..tables import Report, Section
from .helmholtz_conditions import FAMILIES, Condition, SecondOrder, conditions, regularity
from .lagrangian_recovery import recover
from .variational_multipliers import search_multiplier

__all__ = ["InverseProblem", "helmholtz"]


@dataclass(frozen=True, repr=False, eq=False)
class InverseProblem(Report):
    """Whether equations R = 0 come from a Lagrangian; n coordinates.

    Attributes
    ----------
    equations : tuple of expressions (n,)
        R(q, v, a, t), as they were given.
    coordinates : tuple of Coordinate (n,)
    conditions : tuple of Condition
        Helmholtz's conditions for R as it stands, each with its verdict.
    is_lagrangian : bool
        Whether they all hold.
    is_regular : bool
        Whether det(dR/da) does not vanish identically; `regularity` says it in words.
    multiplier : sympy.Matrix or None
        M (n x n) for which M R obeys the conditions: the unit matrix where R does itself, None where none was found.
    lagrangian : sympy.Expr or None
        L(q, v, t) with d/dt L_v - L_q = M R; unique up to the total derivative of a function of (q, t).
    note : str
        How L was certified, or why there is none.
    """

    equations: tuple[sympy.Expr, ...]
    coordinates: tuple[Coordinate, ...]
    conditions: tuple[Condition, ...]
    is_lagrangian: bool
    is_regular: bool
    regularity: str
    multiplier: sympy.Matrix | None
    lagrangian: sympy.Expr | None
    note: str
    name: str = "Inverse problem"

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        if self.is_lagrangian:
            known = "" if self.lagrangian is not None else ", but no closed form of it was found"
            return f"the equations are Euler's equations of a Lagrangian{known}"
        if not any(condition.is_refuted for condition in self.conditions):
            return "whether the equations are Euler's equations as they stand is not established"
        if self.multiplier is not None:
            return "the equations are not Euler's equations as they stand; multiplied they are"
        return "the equations are not Euler's equations as they stand, and no multiplier was found"

    def certificate(self, family: int) -> str:
        """What is known about one family of conditions."""
        own = [condition for condition in self.conditions if condition.family == family]
        failing = [condition for condition in own if not condition.holds]
        if not own:
            return "says nothing for one coordinate"
        if not failing:
            ways = sorted({condition.by for condition in own}, key=lambda way: way == PROVED)
            return f"holds ({', '.join(ways)})"
        worst = next((condition for condition in failing if condition.is_refuted), failing[0])
        pair = ", ".join(worst.pair)
        if worst.residual is not None:
            return f"fails for {pair}: left minus right is {worst.residual}"
        return f"{'fails' if worst.is_refuted else 'not established'} for {pair}: {worst.by}"

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data, expressions as text."""
        return {
            "name": self.name,
            "equations": [str(residual) for residual in self.equations],
            "is_lagrangian": self.is_lagrangian,
            "is_regular": self.is_regular,
            "regularity": self.regularity,
            "conditions": [
                {
                    "family": c.family,
                    "pair": list(c.pair),
                    "holds": c.holds,
                    "by": c.by,
                    "residual": None if c.residual is None else str(c.residual),
                }
                for c in self.conditions
            ],
            "multiplier": None if self.multiplier is None else [[str(e) for e in row] for row in self.multiplier.tolist()],
            "lagrangian": None if self.lagrangian is None else str(self.lagrangian),
            "note": self.note,
        }

    def _title(self) -> str:
        return self.name

    def _sections(self) -> list[Section]:
        lines = [(f"{family}", f"{what}: {self.certificate(family)}") for family, what in FAMILIES.items()]
        found: list[tuple[str, str]] = []
        if self.multiplier is not None and not self.is_lagrangian:
            found.append(("multiplier", _matrix_text(self.multiplier)))
        if self.lagrangian is not None:
            found.append(("L", str(self.lagrangian)))
        found.append(("note", self.note))
        return [
            ("Equations", [(q.name, f"{residual} = 0") for q, residual in zip(self.coordinates, self.equations, strict=True)]),
            ("Answer", [("answer", self.sentence), ("regular", f"{'yes' if self.is_regular else 'no'}: {self.regularity}")]),
            ("Helmholtz's conditions", lines),
            ("Lagrangian", found),
        ]


def _matrix_text(matrix: sympy.Matrix) -> str:
    if matrix.rows == 1:
        return str(matrix[0])
    return f"diag{tuple(matrix.diagonal())}" if matrix.is_diagonal() else str(matrix.tolist())


def helmholtz(
    equations: System | Equations | Sequence[sympy.Basic] | sympy.MatrixBase,
    coordinates: Symbols | None = None,
    *,
    multiplier: Expression | Matrix | None = None,
    search: bool = True,
) -> InverseProblem:
    """Whether second-order equations are Euler's equations of a Lagrangian, and of which.

    Parameters
    ----------
    equations : sequence of expressions or equations, System or Equations
        R(q, q_dot, q_ddot, t), one for each coordinate. A system without constraints stands for d/dt L_v - L_q - Q.
    coordinates : sequence of Coordinate, or of SymPy dynamic symbols q(t)
        In the order of the equations: R_i is to be Euler's equation of q_i.
    multiplier : expression or matrix (n x n)
        Multiplies the equations first.
    search : bool
        Whether a multiplier is looked for where the conditions fail.

    Raises
    ------
    ModelError
        For equations that are not of this kind.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, c, k = da.parameters("m c k", positive=True)
    >>> found = helmholtz([m*x.ddot + c*x.dot + k*x], [x])
    >>> found.is_lagrangian, found.multiplier[0]
    (False, exp(c*t/m))
    >>> found.lagrangian
    (-k*x**2 + m*x_dot**2)*exp(c*t/m)/2
    """
    given, name = _read(equations, coordinates)
    if multiplier is not None:
        given = given.times(_as_matrix(multiplier, len(given.coordinates)))
    own = conditions(given)
    holds = all(condition.holds for condition in own)
    regular, words = regularity(given)
    matrix: sympy.Matrix | None = sympy.eye(len(given.coordinates)) if holds else None
    ready = given
    if not holds and search:
        multiplied = search_multiplier(given)
        if multiplied is not None:
            matrix, ready = multiplied.matrix, multiplied.equations
    lagrangian, note = None, _no_multiplier(given, search)
    if matrix is not None:
        recovered = recover(ready)
        lagrangian, note = recovered.lagrangian, recovered.note
    return InverseProblem(given.residuals, given.coordinates, own, holds, regular, words, matrix, lagrangian, note, name)


def _no_multiplier(equations: SecondOrder, search: bool) -> str:
    if not search:
        return "no multiplier was looked for"
    if any(
        sympy.diff(residual, a).has(*equations.accelerations)
        for residual in equations.residuals
        for a in equations.accelerations
    ):
        return "the equations are not written affinely in the accelerations: solve them for these first"
    if len(equations.coordinates) == 1:
        return "one degree of freedom always has a multiplier, but none was found among factors of (q, t) and of v"
    return "no multiplier was found among constant matrices, factors of (q, t) and diagonal ones; others were not tried"


# -- reading -----------------------------------------------------------------------------------------------------------


def _read(equations: Any, coordinates: Sequence[Any] | None) -> tuple[SecondOrder, str]:
    """The equations and a title."""
    if isinstance(equations, System):
        equations = derive(_without_constraints(equations), "lagrange")
    if isinstance(equations, Equations):
        return _from_equations(equations), equations.system.name
    if coordinates is None:
        raise ModelError("The coordinates are missing", remedy="pass helmholtz(equations, coordinates=[...])")
    rows = [equations] if isinstance(equations, (sympy.Expr, sympy.Equality)) else list(equations)
    symbols = [coordinates] if isinstance(coordinates, sympy.Basic) else list(coordinates)
    translation, found = _translation(symbols)
    residuals = tuple(exact(_residual(row).doit().xreplace(translation)) for row in rows)
    if len(residuals) != len(found):
        raise ModelError(
            "There must be one equation for each coordinate",
            seen=f"{len(residuals)} equations for {len(found)} coordinates",
            remedy="list both in the same order",
        )
    given = SecondOrder(residuals, tuple(found))
    _check_symbols(given)
    return given, "Inverse problem"


def _residual(row: Any) -> sympy.Expr:
    if isinstance(row, sympy.Equality):
        return row.lhs - row.rhs
    expression = as_expression(row)
    if not isinstance(expression, sympy.Expr):
        raise ModelError("An equation must be an expression that vanishes, or an Eq", seen=str(row)[:80])
    return expression


def _translation(symbols: Sequence[Any]) -> tuple[dict[Any, Any], list[Coordinate]]:
    """Coordinates, and what SymPy's dynamic symbols among them become."""
    table: dict[Any, Any] = {}
    found: list[Coordinate] = []
    for item in symbols:
        if isinstance(item, AppliedUndef) and len(item.args) == 1:
            q, clock = Coordinate(item.func.__name__), item.args[0]
            table |= {sympy.Derivative(item, (clock, 2)): q.ddot, sympy.Derivative(item, clock): q.dot, item: q, clock: t}
            found.append(q)
        elif isinstance(item, Coordinate):
            found.append(item)
        else:
            raise ModelError("A coordinate must be made with coordinates(...) or dynamicsymbols(...)", seen=repr(item))
    if len(set(found)) != len(found) or not found:
        raise ModelError("Each coordinate must be listed once", seen=", ".join(q.name for q in found) or "none")
    return table, found


def _check_symbols(equations: SecondOrder) -> None:
    own = {*equations.coordinates, *equations.velocities, *equations.accelerations}
    kinds = (Coordinate, Velocity, Acceleration, Momentum, Speed)
    strangers = {s.name for e in equations.residuals for s in e.free_symbols if isinstance(s, kinds) and s not in own}
    if strangers:
        raise ModelError(
            "The equations contain symbols of other coordinates",
            seen=", ".join(sorted(strangers)),
            remedy="list their coordinates, or write momenta by velocities",
        )
    unknown = {str(node) for e in equations.residuals for node in e.atoms(AppliedUndef, sympy.Derivative)}
    if unknown:
        raise ModelError("The equations contain unknown functions", seen=", ".join(sorted(unknown))[:120])


def _without_constraints(system: System) -> System:
    if system.constraints:
        raise ModelError(
            "The inverse problem is posed for equations without constraints",
            seen=", ".join(c.name for c in system.constraints),
            remedy="eliminate the dependent coordinates, and pass the equations themselves",
        )
    return system


def _from_equations(equations: Equations) -> SecondOrder:
    """R = G z - f of a form whose unknowns are all accelerations."""
    system = equations.system
    accelerations = tuple(q.ddot for q in system.coordinates)
    if equations.unknowns != accelerations or equations.row_names:
        raise ModelError(
            f'The form "{equations.form}" is not a set of second-order equations for all coordinates',
            seen=", ".join(s.name for s in equations.unknowns) + (" with multipliers" if equations.row_names else ""),
            remedy='pass derive(system, "lagrange") of a system without constraints',
        )
    blocks = equations.blocks(TreeAlgebra())
    residuals = blocks.metric @ sympy.Matrix(accelerations) - blocks.force
    given = SecondOrder(tuple(exact(residual) for residual in residuals), system.coordinates)
    _check_symbols(given)
    return given


def _as_matrix(multiplier: Any, n: int) -> sympy.Matrix:
    if isinstance(multiplier, sympy.MatrixBase):
        if multiplier.shape != (n, n):
            raise ModelError("The multiplier must be a matrix with a row for each equation", seen=multiplier.shape)
        return sympy.Matrix(multiplier)
    return as_expression(multiplier) * sympy.eye(n)
