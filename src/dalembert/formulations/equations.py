"""The one record of equations of motion that every formulation fills and everything after it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.tree import TreeAlgebra
from ..errors import FormError
from ..model.system import System
from .blocks import Blocks

if TYPE_CHECKING:
    from .presentation import Written

__all__ = ["Equations"]


@dataclass(frozen=True)
class Equations:
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
        The derivation itself: an algebra in, `Blocks` out.
    is_definite : bool
        Whether G is positive (semi)definite; a vakonomic one may be indefinite.
    has_gauge : bool
        Whether z may be undetermined although the motion is not (dependent speeds).
    start_form : str or None
        The form in which a start is made consistent, where the state of this one cannot even say that it is not.
    rechoose : callable or None
        The same form with its independent velocities chosen again, near a state (a mapping of names to values) or by their
        names, for forms that make such a choice.
    chart : tuple of str
        The independent velocities by name, for forms that choose them.
    chart_is_steady : bool
        Whether that choice is as good at every state.
    options : mapping
        What `derive` was asked for beside the form.
    """

    system: System
    form: str
    citation: str
    state: tuple[sympy.Symbol, ...]
    unknowns: tuple[sympy.Symbol, ...]
    row_names: tuple[str, ...]
    derivation: Callable[[Any], Blocks] = field(repr=False, compare=False)
    is_definite: bool = True
    has_gauge: bool = False
    start_form: str | None = None
    rechoose: Callable[[Any], Equations] | None = field(default=None, repr=False, compare=False)
    chart: tuple[str, ...] = ()
    chart_is_steady: bool = False
    options: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """The letters of a form must not be letters of the model with another meaning."""
        own = {symbol.name for symbol in (*self.system.parameters, *self.system.inputs)}
        needed = [*(letter.name for letter in (*self.state, *self.unknowns)), *(f"mu_{name}" for name in self.row_names)]
        taken = [name for name in needed if name in own]
        if taken:
            raise FormError(
                f'The form "{self.form}" needs the letter `{taken[0]}` for itself',
                seen="a parameter or input of the model with that name",
                remedy="rename it",
            )

    def blocks(self, algebra: Any) -> Blocks:
        """The blocks in an algebra, with the inputs that the system gives as expressions put in."""
        blocks = self.derivation(algebra)
        given = {symbol: value for symbol, value in self.system.inputs.items() if value is not None}
        if not given:
            return blocks
        values = algebra.vector(list(given.values()))
        values = algebra.substitute(values, algebra.vector(self.system.momenta), blocks.momenta)
        values = algebra.substitute(values, algebra.vector(self.system.velocities), blocks.velocities)
        return blocks.substituted(algebra, algebra.vector(list(given)), values)

    @property
    def symbolic(self) -> Blocks:
        """The blocks as SymPy matrices, for reading."""
        return self.blocks(TreeAlgebra())

    def written(self, compact: bool = True) -> Written:
        """The equations written out: lines, and names for parts of them where they are `compact`.

        Parameters
        ----------
        compact : bool
            Whether parts that recur or are long get names. Without names, equations may be too long to be written out.
        """
        from .presentation import write

        kept: dict[bool, Written] = self.__dict__.setdefault("_written", {})
        if compact not in kept:
            kept[compact] = write(self, compact)
        return kept[compact]

    def text(self, compact: bool = True) -> str:
        """The equations as lines of plain text; what names stand for comes after the word ``with``."""
        from .typeset import text

        return text(self.written(compact))

    def latex(self, compact: bool = True) -> str:
        """The equations as a LaTeX ``aligned`` environment; what names stand for comes after the word ``with``."""
        from .typeset import latex

        return latex(self.written(compact))

    def lines(self) -> list[tuple[sympy.Expr, sympy.Expr]]:
        """The equations without names as pairs of a left and a right side: kinematics, dynamics, differentiated constraints."""
        return [line.sides for line in self.written(compact=False).lines]

    def compile(self, backend: str = "llvm") -> Any:
        """A native `Kernel` of these equations; see `dalembert.compiled.kernel`."""
        from ..compiled.kernel import compile_equations

        return compile_equations(self, backend)

    def to_jax(self) -> Any:
        """The rates as a function ``rates(t, y, p, u)`` of JAX: differentiable, for `jax.jit` and `jax.vmap`.

        It runs the same program as native code, in double precision, which JAX must be told to use first; it needs the extra
        `jax`. See `dalembert.compiled.to_jax`.
        """
        from ..compiled.to_jax import to_jax

        return to_jax(self.compile())

    def to_heyoka(self) -> list[tuple[Any, Any]]:
        """The rates as pairs ``(variable, expression)`` of heyoka, ready for ``heyoka.taylor_adaptive``.

        Variables have the names of ``equations.state``, in its order. ``heyoka.par[k]`` is the k-th of ``system.parameters``:
        pass their values as ``pars``. ``heyoka.time`` is t. The constrained solve is part of the expressions, which are as
        short as those that run natively here; they hold where that solve is regular. It needs the extra `heyoka`.
        """
        from ..compiled.heyoka_source import heyoka_system

        return heyoka_system(self.compile())

    def function(self) -> Callable[[float, Any, Any], Any]:
        """A plain numeric function ``f(t, state, parameters) -> rates``.

        `state` follows ``equations.state``; `parameters` is a mapping by name or symbol, or a sequence in the order of
        ``system.parameters``.
        """
        kernel = self.compile()

        def rates(time: float, state: Any, parameters: Any = ()) -> Any:
            return kernel.rates(time, state, parameters)

        return rates
