"""The one record of equations of motion that every form fills and everything later reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.structure import Verdict
from ..algebra.tree import TreeAlgebra
from ..errors import FileError, FormError
from ..model.cache import Cache
from ..model.io.atomic_file import write_whole
from ..model.system import System
from .blocks import GaussBlocks
from .equation_exports import EquationExports
from .rederived import Rechosen, Rederived

if TYPE_CHECKING:
    from os import PathLike

    from ..algebra.protocol import Algebra
    from ..model.scenario import Scenario
    from ..presentation.equation_printer import Written
    from ..presentation.explicit_parts import ExplicitParts
    from ..typing import ArrayLike, Parameters, Values
    from .velocity_frames import VelocityFrame
    from .velocity_splits import Split

__all__ = ["Equations"]


@dataclass(frozen=True)
class Equations(EquationExports):
    """Equations of motion of a system in one form.

    Attributes
    ----------
    system : System
    form : str
        The name of the form.
    citation : str
        Where the form comes from.
    state : tuple of symbols (n_state,)
        What is integrated, coordinates first.
    unknowns : tuple of symbols (n,)
        z of the Gauss problem.
    row_names : tuple of str (m,)
        The constraint behind each row of A.
    derivation : callable
        The derivation itself: an algebra in, `GaussBlocks` out.
    is_definite : bool
        Whether G is positive (semi)definite; a vakonomic one may be indefinite.
    has_gauge : bool
        Whether z may be undetermined although the motion is not (dependent speeds).
    start_form : str or None
        The form in which a start is made consistent, where the state of this one cannot even say
        that it is not.
    rechoose : callable or None
        The same form with its independent velocities chosen again, near a state (a mapping of names
        to values) or by their names, for forms that make such a choice.
    chart : tuple of str
        The independent velocities by name, for forms that choose them.
    chart_is_steady : bool
        Whether that choice is as good at every state.
    choice : Split, VelocityFrame or None
        That choice itself.
    options : mapping
        What `derive` was asked for beside the form.
    hypotheses : mapping of statement to Verdict
        What the derivation assumes of the system beside the form's own hypotheses: proved, or "not
        established" where it holds to the rounding of constants such as 0.8414709848.
    is_explicit : bool
        Whether they are printed and exported solved for the unknowns, without multipliers; see
        `explicit`.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> equations = da.derive(da.System([x], kinetic=m/2*x.dot**2, potential=k/2*x**2))
    >>> print(equations.text())
    m*x_ddot = -k*x
    >>> equations.state, equations.unknowns, equations.function()(
    ...     0.0, [1.0, 0.0], {m: 2, k: 8}
    ... ).tolist()
    ((x, x_dot), (x_ddot,), [0.0, -4.0])
    """

    system: System
    form: str
    citation: str
    state: tuple[sympy.Symbol, ...]
    unknowns: tuple[sympy.Symbol, ...]
    row_names: tuple[str, ...]
    derivation: Callable[[Any], GaussBlocks] = field(repr=False, compare=False)
    is_definite: bool = True
    has_gauge: bool = False
    start_form: str | None = None
    rechoose: Callable[[Any], Equations] | None = field(default=None, repr=False, compare=False)
    chart: tuple[str, ...] = ()
    chart_is_steady: bool = False
    choice: Split | VelocityFrame | None = field(default=None, repr=False, compare=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    hypotheses: Mapping[str, Verdict] = field(default_factory=dict, repr=False, compare=False)
    is_explicit: bool = False
    #: The kernel, the equations written out, and other results that are computed once from these.
    cache: Cache = field(
        default_factory=lambda: Cache("results of equations"), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """The symbols of a form must not be symbols of the model with another meaning."""
        system = self.system
        fixed = {symbol.name for symbol in (*system.parameters, *system.inputs)}
        moving = {symbol.name: symbol for symbol in (*system.coordinates, *system.velocities)}
        needed = {symbol.name: symbol for symbol in (*self.state, *self.unknowns)}
        taken = [name for name in needed if name in system.outputs]
        needed |= {f"mu_{name}": None for name in self.row_names}
        taken += [
            name
            for name, symbol in needed.items()
            if name in fixed or moving.get(name, symbol) != symbol
        ]
        if taken:
            raise FormError(
                f'The form "{self.form}" needs the symbol `{taken[0]}` for itself',
                seen="another quantity of the model with that name",
                remedy="rename it",
            )

    def __getstate__(self) -> dict[str, Any]:
        """The record without its cache; derivations are made again where it is unpickled."""
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        derivation = Rederived.of(self)
        return state | {
            "derivation": derivation,
            "rechoose": self.rechoose and Rechosen(derivation),
        }

    def __repr__(self) -> str:
        """The equations where they are short, and what they are in any case."""
        from ..plotting.reports.display import equations_text

        return equations_text(self)

    def __copy__(self) -> Equations:
        return self

    def __deepcopy__(self, _: object) -> Equations:
        return self

    def blocks(self, algebra: Algebra) -> GaussBlocks:
        """The blocks in an algebra, with the inputs that the system gives as expressions put in."""
        blocks = self.derivation(algebra)
        given = {symbol: value for symbol, value in self.system.inputs.items() if value is not None}
        if not given:
            return blocks
        values = algebra.vector(list(given.values()))
        values = algebra.substitute(values, algebra.vector(self.system.momenta), blocks.momenta)
        values = algebra.substitute(
            values, algebra.vector(self.system.velocities), blocks.velocities
        )
        return blocks.substituted(algebra, algebra.vector(list(given)), values)

    def explicit(self) -> Equations:
        """The same equations, printed and exported solved for the unknowns, without multipliers.

        The unknowns are z = a + K e, the free rates and what the error e = b - A a of the
        constraints adds to them (Udwadia 36; Udwadia and Kalaba), with the Moore-Penrose inverse
        where constraints depend on each other; `dalembert.formulations.explicit` has the formula.
        `compile` and `simulate` take the solve with its rank decision, as ever.

        Raises
        ------
        FormError
            Where the unknowns are not determined.

        Examples
        --------
        >>> import dalembert as da
        >>> x, y = da.coordinates("x y")
        >>> line = da.velocity(x.dot - y.dot, name="line")
        >>> kinetic = (x.dot**2 + y.dot**2) / 2
        >>> system = da.System([x, y], kinetic=kinetic, forces={x: 1}, constraints=[line])
        >>> print(da.derive(system).explicit().text())
        x_ddot = 1/2
        y_ddot = 1/2
        """
        if self.is_explicit:
            return self
        return self.cache.get("explicit", lambda: _explicit(self))

    @property
    def shown(self) -> Equations:
        """What is printed and exported: these equations, or their formula if they are explicit."""
        if not self.is_explicit:
            return self
        from .explicit import formula

        return self.cache.get("formula", lambda: formula(self))

    def parts(self) -> ExplicitParts:
        """The parts of the formula z = a + K e: rows A, right sides b, metric G, gain, error.

        Raises
        ------
        FormError
            Where the unknowns are not determined.
        """
        from ..presentation.explicit_parts import explicit_parts

        return self.cache.get("parts", lambda: explicit_parts(self))

    @property
    def symbolic(self) -> GaussBlocks:
        """The blocks as SymPy matrices, for reading."""
        return self.blocks(TreeAlgebra())

    def written(self, compact: bool = True) -> Written:
        """The equations written out: lines, and names for parts of them where they are `compact`.

        Parameters
        ----------
        compact : bool
            Whether parts that recur or are long get names. Without names, equations may be too long
            to be written out.
        """
        from ..presentation.equation_printer import write, write_explicit

        way = write_explicit if self.is_explicit else write
        return self.cache.get(("written", compact), lambda: way(self.shown, compact))

    def text(self, compact: bool = True) -> str:
        """The equations as lines of plain text; what names stand for comes after the word ``with``.

        Hypotheses that are not proved follow.
        """
        from ..presentation.typeset import text

        unproved = [
            f"{claim}: {verdict}"
            for claim, verdict in self.hypotheses.items()
            if not verdict.is_proved
        ]
        return "\n".join([text(self.written(compact)), *self.notes, *unproved])

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of an explicit formula for dependent constraints."""
        if not (self.is_explicit and self.row_names):
            return ()
        from .explicit import kept_rows, rank_notes

        return rank_notes(kept_rows(self), self.row_names)

    def latex(self, compact: bool = True) -> str:
        """The equations as a LaTeX ``aligned`` environment; names are explained after ``with``."""
        from ..presentation.typeset import latex

        return latex(self.written(compact))

    def to_latex(
        self, path: str | PathLike[str] | None = None, scenario: Scenario | None = None
    ) -> str:
        """The derivation as a LaTeX document for the standard packages, written to `path` if given.

        Parameters
        ----------
        path : path or None
        scenario : Scenario or None
            Of this system: values of parameters and start for the document, and how it is run.

        It has the system, the principle of the form with its equation, the steps of its own road,
        the equations, reactions, what is conserved, and how to run it. Formulas are broken so that
        nothing leaves the page.
        """
        from ..presentation.document import latex_document

        text = latex_document(self, scenario)
        if path is not None:
            try:
                write_whole(path, text)
            except OSError as error:
                reason = error.strerror or str(error)
                raise FileError(
                    "The derivation cannot be written", seen=reason, remedy="check the path"
                ) from error
        return text

    def lines(self) -> list[tuple[sympy.Expr, sympy.Expr]]:
        """The equations without names as pairs of sides: kinematics, dynamics, constraints."""
        return [line.sides for line in self.written(compact=False).lines]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What notebooks show."""
        from ..plotting.reports.display import equations_bundle

        return equations_bundle(self)

    def _repr_html_(self) -> str | None:
        return self._repr_mimebundle_().get("text/html")

    def _repr_latex_(self) -> str | None:
        return self._repr_mimebundle_().get("text/latex")

    def compile(self, backend: str = "llvm") -> Any:
        """A native `Kernel` of these equations; see `dalembert.runtime.kernel`."""
        from ..runtime.kernel import compile_equations

        return compile_equations(self, backend)

    def function(self) -> Callable[..., Any]:
        """A plain numeric function ``f(t, state, parameters=(), inputs=()) -> rates``.

        `state` follows ``equations.state``, `parameters` those of the system, and `inputs` the
        inputs that it leaves free. Each is a sequence in that order, or a mapping by name or
        symbol.

        >>> import dalembert as da
        >>> x, u = da.coordinates("x"), da.inputs("u")
        >>> pushed = da.derive(da.System([x], kinetic=x.dot**2/2, forces={x: u}, inputs=[u]))
        >>> pushed.function()(0.0, [0.0, 1.0], inputs={u: 3.0}).tolist()
        [1.0, 3.0]
        """
        kernel = self.compile()

        def rates(
            time: float,
            state: ArrayLike | Values,
            parameters: Parameters = (),
            inputs: Parameters = (),
        ) -> Any:
            return kernel.rates(time, state, parameters, inputs)

        return rates


def _explicit(equations: Equations) -> Equations:
    from .explicit import kept_rows

    kept_rows(equations)  # raises where there is no formula
    return replace(equations, is_explicit=True)
