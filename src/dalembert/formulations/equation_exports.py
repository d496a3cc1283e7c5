"""Exports of equations as their methods; `dalembert.export` writes them when they are called.

Equations that are explicit are exported as their formula, without a solve: see
`formulations.explicit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from os import PathLike

    from ..typing import ArrayLike, Parameters, Span
    from .equations import Equations

__all__ = ["EquationExports"]


class EquationExports:
    """The methods of `Equations` that export it."""

    @property
    def _shown(self) -> Equations:
        return cast("Equations", self).shown

    def to_sympy(self) -> Any:
        """The equations in SymPy's `dynamicsymbols`, with ``mass_matrix_full``, ``rhs()`` and more.

        They are what `LagrangesMethod` and `KanesMethod` have, so that code written for these goes
        on. See `dalembert.export.to_sympy`.
        """
        from ..export.to_sympy import to_sympy

        return to_sympy(self._shown)

    def to_jax(self) -> Any:
        """The rates as a differentiable function ``rates(t, y, p, u)`` of JAX.

        It runs the same program as native code, in double precision, which JAX must be told to use
        first; it needs the extra `jax`. See `dalembert.export.to_jax`.
        """
        from ..export.to_jax import to_jax

        return to_jax(self._shown.compile())

    def to_casadi(self) -> Any:
        """The equations as CasADi functions of ``t, state, parameters, inputs``, solve included.

        ``rates``, ``accelerations``, ``reactions``, ``energy`` and others are differentiable;
        ``ode`` and ``dae`` are problems for `casadi.integrator`. Rows that depend on others at
        generic states are left out of the solve, by the one rank decision. See
        `dalembert.export.to_casadi`.
        """
        from ..export.to_casadi import to_casadi

        return to_casadi(self._shown.compile())

    def to_heyoka(self) -> list[tuple[Any, Any]]:
        """The rates as pairs ``(variable, expression)`` for ``heyoka.taylor_adaptive``.

        Variables have the names of ``equations.state``, in its order. ``heyoka.par[k]`` is the k-th
        of ``system.parameters``: pass their values as ``pars``. ``heyoka.time`` is t. The
        constrained solve is part of the expressions, which are as short as those that run natively
        here; they hold where that solve is regular. It needs the extra `heyoka`.
        """
        from ..codegen.backends.heyoka_source import heyoka_system

        return heyoka_system(self._shown.compile())

    def to_c(
        self,
        path: str | PathLike[str] | None = None,
        *,
        name: str | None = None,
        parameters: Parameters | None = None,
        start: Mapping[Any, Any] | None = None,
        span: Span | None = None,
        rtol: float = 1e-10,
        atol: ArrayLike | None = None,
        step: float | None = None,
    ) -> Any:
        """These equations as one C99 file and its header, which need nothing but libm.

        They hold the rates, accelerations, reactions, energy and residuals, the solve with its rank
        decision, the projection onto the constraints and the integrator of `simulate`: the same
        programs and loops as native code here, translated. There are no globals; the caller owns a
        workspace of fixed size.

        Parameters
        ----------
        path : path, optional
            Where the files are written: a folder, or the path of the ``.c`` file. Nothing is
            written by default.
        name : str
            What every name in the files begins with, and what they are called; that of the system
            by default.
        parameters : mapping of symbol or name to value
            Default values of the fields of the parameter structure.
        start : mapping of symbol or name to value
            The default start, made consistent as by `simulate`. Forms that choose independent
            velocities choose them there.
        span : (t0, t1)
            From when to when the program goes that is compiled with ``-D<NAME>_MAIN``; it prints t,
            state and energy as CSV.
        rtol, atol : float
            Tolerances of the motion, as in `simulate`.
        step : float
            The time between printed rows.

        Returns
        -------
        CSource
            With `header`, `source` and ``write(folder)``; as a string, both in one text.

        Raises
        ------
        ModelError
            Where there are one-sided constraints: exported code cannot decide what follows an
            impact.

        Examples
        --------
        >>> import dalembert as da
        >>> x = da.coordinates("x")
        >>> m, k = da.parameters("m k", positive=True)
        >>> spring = da.System(
        ...     coordinates=[x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2, name="spring"
        ... )
        >>> exported = da.derive(spring).to_c(parameters={m: 1, k: 4}, start={x: 1}, span=(0, 10))
        >>> "int spring_rates(spring_work *work, double t, const double *y," in exported.header
        True
        """
        from ..export.c_file import export_c

        return export_c(
            self._shown,
            path,
            name=name,
            parameters=parameters,
            start=start,
            span=span,
            rtol=rtol,
            atol=atol,
            step=step,
        )

    def to_fmu(
        self,
        path: str | PathLike[str],
        version: str = "2.0",
        *,
        name: str | None = None,
        parameters: Parameters | None = None,
        start: Mapping[Any, Any] | None = None,
        inputs: Iterable[Any] = (),
        span: Span | None = None,
        rtol: float = 1e-10,
        atol: ArrayLike | None = None,
        step: float | None = None,
        binary: bool | None = None,
    ) -> Any:
        """An FMU for co-simulation (Functional Mock-up Interface): the C of `to_c` in it.

        Within a communication step the unit takes as many steps of the integrator as its tolerance
        asks for. Parameters are tunable, the start of the state can be set before it is initialised
        and is then brought to the constraints, inputs are held over a communication step; outputs
        are the state, accelerations, energy, reactions and the outputs of the model.

        Parameters
        ----------
        path : path
            The file to be written; ``.fmu`` is added where it is missing.
        version : "2.0" or "3.0"
        name, parameters, start, span, rtol, atol, step
            As in `to_c`. Every parameter needs a value. The span and the step are those of the
            default experiment.
        inputs : sequence of symbols or names
            Inputs to be driven from outside although the system gives them as expressions; free
            inputs always are.
        binary : bool, optional
            Whether there must be a shared library for this platform. By default there is one where
            a C compiler is found, and a source unit otherwise, which the importing tool compiles.

        Returns
        -------
        Unit
            With `path`, `name`, `version`, and the `platforms` that it has a library for.
        """
        from ..export.fmu import export_fmu

        given: dict[str, Any] = {
            "name": name,
            "parameters": parameters,
            "start": start,
            "inputs": inputs,
            "span": span,
        }
        return export_fmu(
            self._shown, path, version, rtol=rtol, atol=atol, step=step, binary=binary, **given
        )
