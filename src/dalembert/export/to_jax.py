"""The equations of motion as a function of JAX, from the same program as native code.

JAX differentiates, batches and compiles it. `jax_source` writes a module as text; here the program
itself is run by `jax.numpy`, one instruction after another, when JAX traces the function. The whole
constrained solve is part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..codegen.passes.solve_limits import HEALTHY
from ..codegen.program import OPERATORS, Program, straight_line
from ..errors import MissingExtraError, ModelError
from ..model.labels import labelled
from ..runtime.kernel import Kernel
from ..runtime.kernel_derivatives import regular_rates
from ..typing import ArrayLike, Values

if TYPE_CHECKING:
    import jax

__all__ = ["JaxRates", "to_jax"]

#: Numbers, or what JAX traces in their place.
Traced: TypeAlias = "jax.Array | ArrayLike"

_NAMES = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negative", "sq": "square",
    "inv": "reciprocal", "pow": "power", "constpow": "power", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh",
}  # fmt: skip
_COMPARE = {"lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal"}


class JaxRates:
    """``rates(t, y, p, u)``, the time derivative of the state, for `jax.jit`, `jax.grad`, ....

    Attributes
    ----------
    state, parameters, inputs : tuples of str
        The symbols of y (n_state,), p (n_parameters,) and u (n_inputs,). p may be a mapping of
        names to values as well.
    """

    def __init__(self, kernel: Kernel) -> None:
        try:
            import jax
        except ImportError:
            raise MissingExtraError("jax", "jax") from None
        if not jax.config.jax_enable_x64:
            remedy = 'run jax.config.update("jax_enable_x64", True) first'
            raise ModelError("JAX computes in single precision", "jax_enable_x64 is off", remedy)
        self._numpy = jax.numpy
        self.state = tuple(symbol.name for symbol in kernel.equations.state)
        self.parameters = tuple(symbol.name for symbol in kernel.parameters)
        self.inputs = tuple(symbol.name for symbol in kernel.free_inputs)
        self._program = straight_line("jax_rates", kernel._inputs(), list(regular_rates(kernel)))
        self._functions = _functions(jax.numpy, self._program)

    def __call__(
        self, t: Traced, y: Traced, p: Values | Traced = (), u: Values | Traced = ()
    ) -> jax.Array:
        """The rates (n_state,); NaN where the state does not determine them."""
        numpy = self._numpy
        blocks = [
            numpy.asarray(t, dtype=float).reshape(1),
            self._block("y", y, self.state),
            self._block("p", p, self.parameters),
            self._block("u", u, self.inputs),
        ]
        values: list[jax.Array] = []
        for step in self._program.instructions:
            if step.operation == "input":
                which, place = step.data
                values.append(blocks[which][place])
            elif step.operation == "constant":
                values.append(step.data)
            else:
                values.append(self._functions[step.operation](*(values[a] for a in step.arguments)))
        results = [0.0 if source is None else values[source] for source in self._program.outputs]
        rates = numpy.stack([numpy.asarray(value, dtype=float) for value in results[:-1]])
        determined = (results[-1] > HEALTHY) & numpy.all(numpy.isfinite(rates))
        return numpy.where(determined, rates, numpy.nan)

    def _block(self, name: str, given: Values | Traced, symbols: tuple[str, ...]) -> jax.Array:
        numpy = self._numpy
        given = labelled(given)
        if isinstance(given, Mapping):
            table = {str(getattr(key, "name", key)): value for key, value in given.items()}
            wrong = [symbol for symbol in symbols if symbol not in table]
            wrong += [key for key in table if key not in symbols]
            if wrong:
                what = f"`{name}` must name {', '.join(symbols) or 'nothing'}"
                raise ModelError(what, seen=f"{wrong[0]} missing or unknown")
            given = [table[symbol] for symbol in symbols]
        block = numpy.asarray(given, dtype=float)
        if block.shape != (len(symbols),):
            raise ModelError(
                f"`{name}` must hold {len(symbols)} numbers",
                f"shape {block.shape}",
                f"the order is {', '.join(symbols)}; use jax.vmap for many",
            )
        return block


def _functions(numpy: ModuleType, program: Program) -> dict[str, Callable[..., Any]]:
    """How `jax.numpy` does each operation of a program."""
    special: dict[str, Callable[..., Any]] = {
        **{name: OPERATORS[name] for name in ("twice", "assign")},
        "not": lambda a: numpy.where(a == 0, 1.0, 0.0),
        "and": lambda a, b: numpy.where((a != 0) & (b != 0), 1.0, 0.0),
        "or": lambda a, b: numpy.where((a != 0) | (b != 0), 1.0, 0.0),
        "if_else_zero": lambda c, a: numpy.where(c != 0, a, 0.0),
    }
    found: dict[str, Callable[..., Any]] = {}
    for operation in {step.operation for step in program.instructions} - {"input", "constant"}:
        if operation in special:
            found[operation] = special[operation]
        elif operation in _COMPARE:
            found[operation] = _as_number(numpy, getattr(numpy, _COMPARE[operation]))
        else:
            found[operation] = getattr(numpy, _NAMES.get(operation, operation))
    return found


def _as_number(numpy: ModuleType, compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: numpy.where(compare(a, b), 1.0, 0.0)


def to_jax(kernel: Kernel) -> JaxRates:
    """The rates of a kernel for JAX; see `dalembert.Equations.to_jax`."""
    return JaxRates(kernel)
