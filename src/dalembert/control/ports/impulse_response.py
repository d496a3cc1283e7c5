r"""Impulse responses of linear systems, and whether they are those of Hamiltonian systems.

    y(t) = int_0^t W(t - s) u(s) ds + D u(t),        W(t) = C e^{At} B        (Bloch 4.7.4)

A minimal linear system is Hamiltonian, x_dot = J (S x + C^T u), y = C x + D u, exactly where
(Brockett and Rahimi, Bloch 4.7.5)

    W(t) = -W(-t)^T,        D = D^T.

A response that was measured for t >= 0 says what it is for t < 0 only through its realisation,
which is read off the Hankel matrix of its samples (Ho and Kalman).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import sympy

from ...errors import ModelError
from ...model.flow_system import Flow
from ...model.parameter_values import named_parameters
from ...model.read_only import ReadOnlyArrays
from ...model.system import System
from ...model.values import numbers_by_name, real_array
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ArrayLike, ComplexArray, Numbers, Values
from ..servo.affine import Instants, affine_field

__all__ = ["ImpulseTest", "LinearInputOutput", "input_output", "is_hamiltonian_impulse_response"]


@dataclass(frozen=True)
class LinearInputOutput(ReadOnlyArrays):
    """x_dot = A x + B u, y = C x + D u.

    Attributes
    ----------
    A, B, C, D : arrays (n, n), (n, k), (l, n), (l, k)
    inputs, outputs : tuples of str

    Examples
    --------
    >>> J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> S, C = np.diag([2.0, 1.0]), np.array([[1.0, 0.0]])
    >>> oscillator = LinearInputOutput(J @ S, J @ C.T, C, np.zeros((1, 1)))
    >>> float(oscillator.impulse_response(0.5)[0, 0].round(12))
    -0.459362684933
    """

    A: Array
    B: Array
    C: Array
    D: Array
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def impulse_response(self, time: Numbers) -> Array:
        """W(t) = C e^{At} B, (l, k) for a number and (nt, l, k) for times; negative times, too."""
        from scipy.linalg import expm

        if np.ndim(time) == 0:
            response: Array = self.C @ expm(self.A * float(time)) @ self.B
            return response
        return np.array([self.impulse_response(moment) for moment in np.asarray(time, dtype=float)])

    def transfer(self, s: complex) -> ComplexArray:
        """C (s - A)^-1 B + D, (l, k); of a Hamiltonian system it is transfer(-s)^T."""
        resolvent = np.linalg.solve(s * np.eye(len(self.A)) - self.A, self.B.astype(complex))
        return np.asarray(self.C @ resolvent + self.D, dtype=complex)

    def markov(self, count: int) -> Array:
        """C A^k B, (count, l, k): skew, symmetric, skew, ... for a Hamiltonian system."""
        found, power = [], np.asarray(self.B, dtype=float)
        for _ in range(count):
            found.append(self.C @ power)
            power = self.A @ power
        return np.array(found)


#: A function of time, a state space or its matrices, or samples (nt, k, k) or (nt,).
Response: TypeAlias = (
    "Callable[[float], ArrayLike] | LinearInputOutput | ArrayLike | Sequence[ArrayLike]"
)


@dataclass(frozen=True)
class ImpulseTest:
    """Whether an impulse response is that of a Hamiltonian system.

    Attributes
    ----------
    holds : bool
    residual : float
        The largest |W(t) + W(-t)^T|, or |D - D^T|, relative to the largest |W|.
    order : int or None
        The dimension of the realisation, where one was made.
    """

    holds: bool
    residual: float
    order: int | None

    def __bool__(self) -> bool:
        return self.holds


def is_hamiltonian_impulse_response(
    response: Response,
    times: ArrayLike | None = None,
    *,
    feedthrough: ArrayLike | None = None,
    tolerance: float = 1e-8,
) -> ImpulseTest:
    """The test W(t) = -W(-t)^T, D = D^T (Bloch 4.7.5).

    Parameters
    ----------
    response : function of time, LinearInputOutput, matrices (A, B, C) or (A, B, C, D), or samples
        Samples are (nt, k, k) or (nt,).
    times : array (nt,)
        Where a function is tried; the times of samples. Samples must lie at t and -t, or evenly
        from t = 0 on.
    feedthrough : matrix (k, k)
        D; that of a LinearInputOutput is known.
    tolerance : float
        For data, what their errors allow.

    Examples
    --------
    >>> [bool(is_hamiltonian_impulse_response(f, [0.3, 1.0])) for f in (np.sin, np.cos)]
    [True, False]
    >>> steps = np.linspace(0, 2, 21)
    >>> bool(is_hamiltonian_impulse_response(np.exp(-steps) * np.sin(steps), steps))
    False
    """
    order = None
    response = _state_space(response)
    moments = np.linspace(0.1, 2.0, 12)
    if times is not None:
        moments = np.abs(np.asarray(times, dtype=float))
    if isinstance(response, LinearInputOutput):
        forward, backward = response.impulse_response(moments), response.impulse_response(-moments)
        feedthrough = response.D if feedthrough is None else feedthrough
        order = len(response.A)
    elif callable(response):
        forward = np.array([np.atleast_2d(response(moment)) for moment in moments], dtype=float)
        backward = np.array([np.atleast_2d(response(-moment)) for moment in moments], dtype=float)
    else:
        forward, backward, order = _two_sided(response, times, tolerance)
    if forward.shape[1] != forward.shape[2]:
        raise ModelError(
            "A Hamiltonian system has as many outputs as inputs",
            f"{forward.shape[1]} outputs, {forward.shape[2]} inputs",
            "choose the outputs dH/du",
        )
    scale = float(np.max(np.abs(forward))) or 1.0
    residual = float(np.max(np.abs(forward + np.transpose(backward, (0, 2, 1))))) / scale
    if feedthrough is not None:
        D = np.atleast_2d(np.asarray(feedthrough, dtype=float))
        size = max(scale, float(np.max(np.abs(D), initial=0.0)))
        residual = max(residual, float(np.max(np.abs(D - D.T), initial=0.0)) / size)
    return ImpulseTest(residual <= tolerance, residual, order)


def _state_space(response: Response) -> Response:
    """Matrices of a state space as a LinearInputOutput; anything else as it is."""
    if isinstance(response, LinearInputOutput):
        return response
    given = [getattr(response, name, None) for name in "ABCD"]
    blocks = response if isinstance(response, tuple) and len(response) in (3, 4) else ()
    if blocks and all(np.ndim(block) == 2 for block in blocks):
        given = [*blocks, None][:4]
    if any(block is None for block in given[:3]):
        return response
    A, B, C = (real_array(block) for block in given[:3])
    D = np.zeros((len(C), B.shape[-1])) if given[3] is None else real_array(given[3])
    n = len(A)
    if A.shape != (n, n) or B.shape != (n, D.shape[-1]) or C.shape != (len(D), n):
        raise ModelError(
            "The matrices of a state space must fit together",
            f"A {A.shape}, B {B.shape}, C {C.shape}, D {D.shape}",
            "give A (n, n), B (n, k), C (l, n) and D (l, k)",
        )
    return LinearInputOutput(A, B, C, D)


def _two_sided(
    samples: Response, times: ArrayLike | None, tolerance: float
) -> tuple[Array, Array, int | None]:
    """Samples at t and at -t; the latter from a realisation where there are none."""
    try:
        W = real_array(samples)
    except (TypeError, ValueError):
        what = "An impulse response is a function, samples, or a state space"
        remedy = "give samples (nt, k, k) with times=, a function, or matrices (A, B, C)"
        raise ModelError(what, type(samples).__name__, remedy) from None
    W = W[:, None, None] if W.ndim == 1 else W
    moments = np.asarray(times, dtype=float).ravel()
    if W.ndim != 3 or len(moments) != len(W):
        seen = f"shapes {W.shape} and {moments.shape}"
        raise ModelError("Samples of an impulse response need a time each", seen, "pass times=")
    if np.min(moments) < 0:
        partner = [int(np.argmin(np.abs(moments + moment))) for moment in moments]
        if np.max(np.abs(moments[partner] + moments)) > 1e-9 * np.max(np.abs(moments)):
            what = "Samples at negative times need partners at positive ones"
            raise ModelError(what, remedy="sample at t and -t")
        return W, W[partner], None
    steps = np.diff(moments)
    if abs(moments[0]) > 1e-9 * np.max(steps, initial=0.0) or np.ptp(steps) > 1e-9 * np.max(steps):
        raise ModelError(
            "Samples from one side must be evenly spaced and begin at t = 0",
            f"from {moments[0]:g} in steps of {np.min(steps):g} to {np.max(steps):g}",
            "sample so, or pass W as a function",
        )
    step_matrix, first, last = _realised(W, tolerance)
    inverse, backward, state = np.linalg.inv(step_matrix), [], last
    for _ in range(len(W)):
        backward.append(first @ state)
        state = inverse @ state
    return W, np.array(backward), len(step_matrix)


def _realised(W: Array, tolerance: float) -> tuple[Array, Array, Array]:
    """(F, c, b) with W_k = c F^k b, from the Hankel matrix H_ij = W_(i+j) and its shift."""
    count, rows, columns = W.shape
    half = count // 2
    hankel = np.block([[W[i + j] for j in range(half)] for i in range(half)])
    shifted = np.block([[W[i + j + 1] for j in range(half)] for i in range(half)])
    chosen_rows = rank(hankel, max(1e-9, tolerance * 1e-2)).independent
    chosen = rank(hankel[chosen_rows].T, max(1e-9, tolerance * 1e-2)).independent
    core = hankel[np.ix_(chosen_rows, chosen)]
    if len(chosen_rows) >= half * min(rows, columns) or core.shape[0] != core.shape[1]:
        raise ModelError(
            "The samples have no realisation of finite order",
            f"rank {len(chosen_rows)} of a Hankel matrix of {half} blocks",
            "take more samples, or a larger tolerance for data with errors",
        )
    step_matrix = np.linalg.solve(core, shifted[np.ix_(chosen_rows, chosen)])
    return step_matrix, hankel[:rows, chosen], np.linalg.solve(core, hankel[chosen_rows, :columns])


def input_output(
    model: System | Flow,
    outputs: Sequence[str] | None = None,
    at: Values | None = None,
    parameters: Values | None = None,
) -> LinearInputOutput:
    """The input-output form of a model, linearised at a state: from its free inputs to its outputs.

    Parameters
    ----------
    outputs : names of outputs of the model; all of them by default
    at : mapping of symbol to value
        Usually an equilibrium; symbols left out are zero.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> stated = {"forces": {x: u}, "inputs": [u], "outputs": {"place": -x}}
    >>> spring = da.System([x], kinetic=x.dot**2 / 2, potential=x**2, **stated)
    >>> bool(is_hamiltonian_impulse_response(input_output(spring)))
    True
    """
    inputs = [symbol for symbol, law in model.inputs.items() if law is None]
    field = affine_field(model, inputs)
    named = dict(model.outputs)
    chosen = list(named) if outputs is None else list(outputs)
    missing = [name for name in chosen if name not in named]
    if missing or not chosen or not inputs:
        raise ModelError(
            "An input-output form needs free inputs and outputs of the model",
            ", ".join(missing) or f"{len(inputs)} inputs, {len(chosen)} outputs",
            "state outputs={...} and leave an input without a law",
        )
    y = sympy.Matrix([named[name].xreplace(dict(field.velocities)) for name in chosen])
    u = sympy.Matrix(inputs)
    rates = sympy.Matrix(field.drift) + field.fields * u
    values = numbers_by_name(at) | named_parameters(model.parameters, parameters)
    probe = Instants(values | {"_": 0.0})

    def derivative(vector: sympy.MatrixBase, symbols: Sequence[sympy.Symbol]) -> Array:
        return probe.here(list(vector.jacobian(list(symbols))), vector.rows)

    A, B = derivative(rates, field.symbols), derivative(rates, inputs)
    C, D = derivative(y, field.symbols), derivative(y, inputs)
    return LinearInputOutput(A, B, C, D, tuple(map(str, inputs)), tuple(chosen))
