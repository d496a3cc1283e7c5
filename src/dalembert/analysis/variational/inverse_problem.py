r"""The inverse problem: are given second-order equations Euler's equations of a Lagrangian?

They are as they stand where Helmholtz's conditions hold (`helmholtz_conditions.py`), and then L
follows by quadratures (`lagrangian_recovery.py`). Where they fail, the equations may still be
equivalent to Euler's equations: multiplied by a regular matrix they may obey the conditions
(`variational_multipliers.py`), as a damped oscillator does when multiplied by exp(c t / m).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from ...algebra.simplify.simplifier import simplify
from ...algebra.tree import TreeAlgebra
from ...algebra.verdicts import Verdict
from ...errors import ModelError
from ...formulations.equations import Equations
from ...formulations.registry import derive
from ...model.symbols import Acceleration, Coordinate, Momentum, Speed, Velocity, as_expression, t
from ...model.system import System
from ...typing import Expression, Matrix, Symbols
from ..proofs.bounded import PROVED, exact
from ..tables import Report, Section
from .douglas import douglas
from .helmholtz_conditions import FAMILIES, HelmholtzCondition, SecondOrder, conditions, regularity
from .lagrangian_recovery import recover
from .variational_multipliers import Multiplied, search_multiplier, solved_accelerations

__all__ = ["InverseProblem", "helmholtz"]


@dataclass(frozen=True, repr=False, eq=False)
class InverseProblem(Report):
    """Whether equations R = 0 come from a Lagrangian; n coordinates.

    Attributes
    ----------
    equations : tuple of expressions (n,)
        R(q, v, a, t), as they were given.
    coordinates : tuple of Coordinate (n,)
    conditions : tuple of HelmholtzCondition
        Helmholtz's conditions for R as it stands, each with its verdict.
    is_lagrangian : bool
        Whether they all hold.
    is_regular : bool
        Whether det(dR/da) does not vanish identically; `regularity` says it in words.
    multiplier : sympy.Matrix or None
        M (n x n) for which M R obeys the conditions; the unit matrix where R does itself.
    lagrangian : sympy.Expr or None
        L(q, v, t) with d/dt L_v - L_q = M R, unique up to a total derivative of f(q, t).
    note : str
        How L was certified, or why there is none.
    existence : Verdict
        Whether some regular multiplier exists: proved, refuted or not established.
    case : str
        The case of Douglas, "I" to "IV", of two degrees of freedom without a multiplier among the
        families that are searched; "" otherwise.
    """

    equations: tuple[sympy.Expr, ...]
    coordinates: tuple[Coordinate, ...]
    conditions: tuple[HelmholtzCondition, ...]
    is_lagrangian: bool
    is_regular: bool
    regularity: str
    multiplier: sympy.Matrix | None
    lagrangian: sympy.Expr | None
    note: str
    existence: Verdict
    case: str
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
        if self.existence.is_refuted:
            return "the equations are not Euler's equations, and no multiplier makes them so"
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
        conditions = [
            {
                "family": c.family,
                "pair": list(c.pair),
                "holds": c.holds,
                "by": c.by,
                "residual": None if c.residual is None else str(c.residual),
            }
            for c in self.conditions
        ]
        rows = None if self.multiplier is None else self.multiplier.tolist()
        return {
            "name": self.name,
            "equations": [str(residual) for residual in self.equations],
            "is_lagrangian": self.is_lagrangian,
            "is_regular": self.is_regular,
            "regularity": self.regularity,
            "conditions": conditions,
            "multiplier": None if rows is None else [[str(e) for e in row] for row in rows],
            "lagrangian": None if self.lagrangian is None else str(self.lagrangian),
            "note": self.note,
            "existence": {"status": self.existence.status, "grounds": self.existence.grounds},
            "case": self.case,
        }

    def _title(self) -> str:
        return self.name

    def _sections(self) -> list[Section]:
        lines = [(f"{k}", f"{what}: {self.certificate(k)}") for k, what in FAMILIES.items()]
        found: list[tuple[str, str]] = []
        if self.multiplier is not None and not self.is_lagrangian:
            found.append(("multiplier", _matrix_text(self.multiplier)))
        if self.lagrangian is not None:
            found.append(("L", str(self.lagrangian)))
        found.append(("note", self.note))
        rows = zip(self.coordinates, self.equations, strict=True)
        regular = f"{'yes' if self.is_regular else 'no'}: {self.regularity}"
        answer = [("answer", self.sentence), ("regular", regular)]
        if not self.is_lagrangian:
            answer.append(("exists", f"a multiplier: {self.existence}"))
        return [
            ("Equations", [(q.name, f"{residual} = 0") for q, residual in rows]),
            ("Answer", answer),
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
        R(q, q_dot, q_ddot, t) by coordinate; d/dt L_v - L_q - Q of a system without constraints.
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
    ready, case = given, ""
    existence = _existence(given, own, search)
    if not holds and search:
        multiplied = search_multiplier(given)
        if multiplied is None:
            multiplied, existence, case = _by_conditions(given, existence)
        if multiplied is not None:
            matrix, ready = multiplied.matrix, multiplied.equations
            existence = _existence(given, conditions(ready), search)
    lagrangian, note = None, _no_multiplier(given, search)
    if existence.is_refuted:
        note = f"there is no multiplier: {existence.grounds}"
    if matrix is not None:
        recovered = recover(ready)
        lagrangian, note = recovered.lagrangian, recovered.note
    return InverseProblem(
        equations=given.residuals,
        coordinates=given.coordinates,
        conditions=own,
        is_lagrangian=holds,
        is_regular=regular,
        regularity=words,
        multiplier=matrix,
        lagrangian=lagrangian,
        note=note,
        existence=existence,
        case=case,
        name=name,
    )


def _existence(
    equations: SecondOrder, found: Sequence[HelmholtzCondition], search: bool
) -> Verdict:
    """What Helmholtz's conditions of the equations, multiplied or not, say of a multiplier."""
    if all(condition.verdict.is_proved for condition in found):
        return Verdict("proved", "Helmholtz's conditions hold", holds_to_rounding=True)
    if all(condition.holds for condition in found):
        words = "Helmholtz's conditions hold to rounding"
        return Verdict("not established", words, holds_to_rounding=True)
    if len(equations.coordinates) == 1 and regularity(equations)[0]:
        words = "one degree of freedom always has a multiplier (Darboux)"
        return Verdict("proved", words, holds_to_rounding=True)
    words = "no multiplier was found" if search else "no multiplier was looked for"
    return Verdict("not established", words)


def _by_conditions(
    equations: SecondOrder, existence: Verdict
) -> tuple[Multiplied | None, Verdict, str]:
    """What the algebraic conditions on multipliers decide, and a multiplier that they leave."""
    solved = solved_accelerations(equations) if equations.is_small else None
    if solved is None or len(equations.coordinates) == 1:
        return None, existence, ""
    found = douglas(equations, solved.accelerations)
    if found.multiplier is not None:
        matrix = (found.multiplier @ solved.inverse).applyfunc(simplify)
        scaled = equations.times(matrix)
        short = SecondOrder(tuple(map(simplify, scaled.residuals)), equations.coordinates)
        if all(condition.holds for condition in conditions(short)):
            return Multiplied(matrix, short), found.existence, found.case
    return None, found.existence, found.case


def _no_multiplier(equations: SecondOrder, search: bool) -> str:
    if not search:
        return "no multiplier was looked for"
    a = equations.accelerations
    rates = (sympy.diff(residual, symbol) for residual in equations.residuals for symbol in a)
    if any(rate.has(*a) for rate in rates):
        return "the equations are not written affinely in the accelerations: solve them for these"
    if len(equations.coordinates) == 1:
        tried = "factors of (q, t) and of v"
        return f"one degree of freedom always has a multiplier, but none was found among {tried}"
    tried = "constant matrices, factors of (q, t) and diagonal ones"
    return f"no multiplier was found among {tried}; others were not tried"


# -- reading ---------------------------------------------------------------------------------------


def _read(
    equations: System | Equations | Sequence[sympy.Basic] | sympy.MatrixBase,
    coordinates: Symbols | None,
) -> tuple[SecondOrder, str]:
    """The equations and a title."""
    if isinstance(equations, System):
        equations = derive(_without_constraints(equations), "lagrange")
    if isinstance(equations, Equations):
        return _from_equations(equations), equations.system.name
    if coordinates is None:
        remedy = "pass helmholtz(equations, coordinates=[...])"
        raise ModelError("The coordinates are missing", remedy=remedy)
    rows = [equations] if isinstance(equations, (sympy.Expr, sympy.Equality)) else list(equations)
    symbols = [coordinates] if isinstance(coordinates, sympy.Basic) else list(coordinates)
    translation, found = _translation(symbols)
    residuals = tuple(exact(_residual(row).doit().xreplace(translation)) for row in rows)
    if len(residuals) != len(found):
        what = "There must be one equation for each coordinate"
        remedy = "list both in the same order"
        raise ModelError(what, f"{len(residuals)} equations for {len(found)} coordinates", remedy)
    given = SecondOrder(residuals, tuple(found))
    _check_symbols(given)
    return given, "Inverse problem"


def _residual(row: sympy.Basic) -> sympy.Expr:
    if isinstance(row, sympy.Equality):
        return row.lhs - row.rhs
    expression = as_expression(row)
    if not isinstance(expression, sympy.Expr):
        raise ModelError("An equation must be an expression that vanishes, or an Eq", str(row)[:80])
    return expression


def _translation(
    symbols: Sequence[sympy.Basic],
) -> tuple[dict[sympy.Basic, sympy.Basic], list[Coordinate]]:
    """Coordinates, and what SymPy's dynamic symbols among them become."""
    table: dict[sympy.Basic, sympy.Basic] = {}
    found: list[Coordinate] = []
    for item in symbols:
        if isinstance(item, AppliedUndef) and len(item.args) == 1:
            q, clock = Coordinate(item.func.__name__), item.args[0]
            twice, once = sympy.Derivative(item, (clock, 2)), sympy.Derivative(item, clock)
            table |= {twice: q.ddot, once: q.dot, item: q, clock: t}
            found.append(q)
        elif isinstance(item, Coordinate):
            found.append(item)
        else:
            what = "A coordinate must be made with coordinates(...) or dynamicsymbols(...)"
            raise ModelError(what, seen=repr(item))
    if len(set(found)) != len(found) or not found:
        what = "Each coordinate must be listed once"
        raise ModelError(what, seen=", ".join(q.name for q in found) or "none")
    return table, found


def _check_symbols(equations: SecondOrder) -> None:
    own = {*equations.coordinates, *equations.velocities, *equations.accelerations}
    kinds = (Coordinate, Velocity, Acceleration, Momentum, Speed)
    symbols = {s for e in equations.residuals for s in e.free_symbols} - own
    strangers = {symbol.name for symbol in symbols if isinstance(symbol, kinds)}
    if strangers:
        what = "The equations contain symbols of other coordinates"
        remedy = "list their coordinates, or write momenta by velocities"
        raise ModelError(what, ", ".join(sorted(strangers)), remedy)
    nodes = (AppliedUndef, sympy.Derivative)
    unknown = {str(node) for e in equations.residuals for node in e.atoms(*nodes)}
    if unknown:
        what = "The equations contain unknown functions"
        raise ModelError(what, seen=", ".join(sorted(unknown))[:120])


def _without_constraints(system: System) -> System:
    if system.constraints:
        what = "The inverse problem is posed for equations without constraints"
        remedy = "eliminate the dependent coordinates, and pass the equations themselves"
        raise ModelError(what, ", ".join(c.name for c in system.constraints), remedy)
    return system


def _from_equations(equations: Equations) -> SecondOrder:
    """R = G z - f of a form whose unknowns are all accelerations."""
    system = equations.system
    accelerations = tuple(q.ddot for q in system.coordinates)
    if equations.unknowns != accelerations or equations.row_names:
        names = ", ".join(symbol.name for symbol in equations.unknowns)
        raise ModelError(
            f'The form "{equations.form}" has no second-order equations for all coordinates',
            seen=names + (" with multipliers" if equations.row_names else ""),
            remedy='pass derive(system, "lagrange") of a system without constraints',
        )
    blocks = equations.blocks(TreeAlgebra())
    residuals = blocks.metric @ sympy.Matrix(accelerations) - blocks.force
    given = SecondOrder(tuple(exact(residual) for residual in residuals), system.coordinates)
    _check_symbols(given)
    return given


def _as_matrix(multiplier: Expression | Matrix, n: int) -> sympy.Matrix:
    if isinstance(multiplier, sympy.MatrixBase):
        if multiplier.shape != (n, n):
            what = "The multiplier must be a matrix with a row for each equation"
            raise ModelError(what, seen=multiplier.shape)
        return sympy.Matrix(multiplier)
    return as_expression(multiplier) * sympy.eye(n)
