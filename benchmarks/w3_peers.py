"""The peers of W3: how each package's user simulates the rolling disk."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from w3_model import (
    ACROSS,
    ALONG,
    DURATION,
    GRAVITY,
    MASS,
    NAMES,
    POSITION,
    RADIUS,
    SPEEDS,
    TIMES,
    Solver,
    from_full,
    from_reduced,
    from_speeds,
    full_start,
    lagrangian,
    rates_by_hand,
    reduced_start,
    rolling,
)

MOST_STEPS = 10**7
#: Kane's speeds in the order (independent, dependent), as positions in q_dot, and back.
INDEPENDENT_FIRST, BACK = [2, 3, 4, 0, 1], [3, 4, 0, 1, 2]


def scipy_dop853(
    rates: Callable[[float, np.ndarray], np.ndarray], start: np.ndarray, rtol: float
) -> Callable[[], Any]:
    from scipy.integrate import solve_ivp

    rates(0.0, start)
    return lambda: (
        solve_ivp(
            rates, (0, DURATION), start, method="DOP853", rtol=rtol, atol=rtol, t_eval=TIMES
        ).y
    )


def sympy_lagrange(rtol: float) -> Solver:
    import sympy as sp
    import sympy.physics.mechanics as me

    t = me.dynamicsymbols._t
    q, u = me.dynamicsymbols(" ".join(NAMES)), me.dynamicsymbols("u0:5")
    velocities = [coordinate.diff(t) for coordinate in q]
    method = me.LagrangesMethod(
        lagrangian(sp, q, velocities), q, nonhol_coneqs=rolling(sp, q, velocities)
    )
    method.form_lagranges_equations()
    speeds = dict(zip(velocities, u, strict=True))
    matrix = sp.zeros(7, 7)
    matrix[:5, :] = method.mass_matrix.subs(speeds)
    matrix[5:, :5] = method.lam_coeffs.subs(speeds)
    bias = (-method.lam_coeffs.diff(t) * sp.Matrix(velocities)).subs(speeds)
    right = sp.Matrix([*method.forcing.subs(speeds), *bias])
    function = sp.lambdify([list(q), list(u)], [matrix, right], modules="numpy", cse=True)

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        k, r = function(x[:5], x[5:])
        return np.concatenate([x[5:], np.linalg.solve(k, r)[:5, 0]])

    return Solver(scipy_dop853(rates, full_start(), rtol), from_full)


def kane() -> tuple[Any, Any, Any, Any, Any]:
    """Mass matrix, force, coordinates, speeds and the symbol of gravity by Kane's method."""
    import sympy as sp
    import sympy.physics.mechanics as me

    q, u = me.dynamicsymbols(" ".join(NAMES)), me.dynamicsymbols("u0:5")
    gravity = sp.Symbol("g")
    ground = me.ReferenceFrame("N")
    yawed = ground.orientnew("Y", "Axis", (q[2], ground.z))
    leaning = yawed.orientnew("L", "Axis", (q[3], yawed.x))
    leaning.set_ang_vel(ground, u[2] * ground.z + u[3] * yawed.x)
    rolled = leaning.orientnew("B", "Axis", (q[4], leaning.y))
    rolled.set_ang_vel(leaning, u[4] * leaning.y)
    centre = me.Point("C")
    centre.set_vel(
        ground, u[0] * ground.x + u[1] * ground.y - RADIUS * sp.sin(q[3]) * u[3] * ground.z
    )
    inertia = me.inertia(leaning, ACROSS, ALONG, ACROSS)
    disk = me.RigidBody("D", centre, rolled, MASS, (inertia, centre))
    method = me.KanesMethod(
        ground,
        q_ind=q,
        u_ind=[u[2], u[3], u[4]],
        u_dependent=[u[0], u[1]],
        kd_eqs=[a.diff(me.dynamicsymbols._t) - b for a, b in zip(q, u, strict=True)],
        velocity_constraints=rolling(sp, q, u),
    )
    method.kanes_equations([disk], [(centre, -MASS * gravity * ground.z)])
    return method.mass_matrix, method.forcing, q, u, gravity


def sympy_kane(rtol: float) -> Solver:
    import sympy as sp

    mass, force, q, u, gravity = kane()
    known = {gravity: GRAVITY}
    function = sp.lambdify(
        [list(q), [u[i] for i in INDEPENDENT_FIRST]],
        [mass.subs(known), force.subs(known)],
        modules="numpy",
        cse=True,
    )

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        m, f = function(x[:5], x[5:][INDEPENDENT_FIRST])
        return np.concatenate([x[5:], np.linalg.solve(m, f)[BACK, 0]])

    return Solver(scipy_dop853(rates, full_start(), rtol), from_full)


def pydy_cython(rtol: float) -> Solver:
    import sympy as sp
    from pydy.codegen.ode_function_generators import generate_ode_function

    mass, force, q, u, gravity = kane()
    function = generate_ode_function(
        force,
        list(q),
        [u[i] for i in INDEPENDENT_FIRST],
        [gravity],
        mass_matrix=mass,
        coordinate_derivatives=sp.Matrix(u),
        generator="cython",
    )
    constants = np.array([GRAVITY])

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        out = function(np.concatenate([x[:5], x[5:][INDEPENDENT_FIRST]]), t, constants)
        return np.concatenate([out[:5], out[5:][BACK]])

    return Solver(scipy_dop853(rates, full_start(), rtol), from_full)


def casadi_equations() -> tuple[Any, Any, Any, Any]:
    """State x, velocity v, and the matrix and right side of Lagrange's equations with
    multipliers.
    """
    import casadi as ca

    q, v = ca.SX.sym("q", 5), ca.SX.sym("v", 5)
    coordinates, velocities = [q[i] for i in range(5)], [v[i] for i in range(5)]
    energy = lagrangian(ca, coordinates, velocities)
    constraints = ca.vertcat(*rolling(ca, coordinates, velocities))
    mass, momentum = ca.hessian(energy, v)
    rows = ca.jacobian(constraints, v)
    force = ca.gradient(energy, q) - ca.jtimes(momentum, q, v)
    matrix = ca.blockcat([[mass, rows.T], [rows, ca.SX(2, 2)]])
    return ca.vertcat(q, v), v, matrix, ca.vertcat(force, -ca.jtimes(constraints, q, v))


def casadi_cvodes(rtol: float, adams: bool = True, jit: bool = False) -> Solver:
    import casadi as ca

    x, v, matrix, right = casadi_equations()
    options: dict[str, Any] = {"abstol": rtol, "reltol": rtol, "max_num_steps": MOST_STEPS}
    if adams:
        options |= {"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"}
    if jit:
        os.chdir(tempfile.mkdtemp())
        options |= {
            "jit": True,
            "compiler": "shell",
            "jit_options": {"flags": ["-O2", "-march=native"]},
        }
    problem = {"x": x, "ode": ca.vertcat(v, ca.solve(matrix, right)[:5])}
    integrator = ca.integrator("disk", "cvodes", problem, 0.0, list(TIMES[1:]), options)
    return Solver(lambda: with_start(integrator(x0=full_start())["xf"]), from_full)


def casadi_idas(rtol: float) -> Solver:
    import casadi as ca

    x, v, matrix, right = casadi_equations()
    z = ca.SX.sym("z", 7)
    problem = {"x": x, "z": z, "ode": ca.vertcat(v, z[:5]), "alg": ca.mtimes(matrix, z) - right}
    options = {"abstol": rtol, "reltol": rtol, "max_num_steps": MOST_STEPS}
    integrator = ca.integrator("disk", "idas", problem, 0.0, list(TIMES[1:]), options)
    return Solver(lambda: with_start(integrator(x0=full_start(), z0=np.zeros(7))["xf"]), from_full)


def with_start(later: Any) -> np.ndarray:
    return np.hstack([full_start()[:, None], np.array(later)])


def casadi_c(rtol: float) -> Solver:
    import casadi as ca

    x, v, matrix, right = casadi_equations()
    os.chdir(tempfile.mkdtemp())
    ca.Function("f", [x], [ca.vertcat(v, ca.solve(matrix, right)[:5])]).generate("f.c")
    subprocess.check_call(
        ["gcc", "-O2", "-march=native", "-fPIC", "-shared", "f.c", "-o", "f.so", "-lm"]
    )
    function = ca.external("f", "./f.so")
    buffer, call = function.buffer()
    state, out = np.zeros(10), np.zeros(10)
    buffer.set_arg(0, memoryview(state))
    buffer.set_res(0, memoryview(out))

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        state[:] = x
        call()
        return out.copy()

    rates.keep = (function, buffer)  # the buffer does not own the function
    return Solver(scipy_dop853(rates, full_start(), rtol), from_full)


def diffrax_dopri8(rtol: float, rates: Any, start: np.ndarray, unpack: Any) -> Solver:
    import diffrax
    import jax
    import jax.numpy as jnp

    controller = diffrax.PIDController(rtol=rtol, atol=rtol)
    saved = diffrax.SaveAt(ts=jnp.asarray(TIMES))

    @jax.jit
    def solve(x: Any) -> Any:
        term, method = diffrax.ODETerm(rates), diffrax.Dopri8()
        return diffrax.diffeqsolve(
            term,
            method,
            0.0,
            DURATION,
            0.01,
            x,
            saveat=saved,
            max_steps=10**6,
            stepsize_controller=controller,
        ).ys

    solve(start).block_until_ready()
    return Solver(lambda: np.asarray(solve(start).block_until_ready()).T, unpack)


def jax_multipliers(rtol: float) -> Solver:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def energy(q: Any, v: Any) -> Any:
        return lagrangian(jnp, q, v)

    def constraints(q: Any, v: Any) -> Any:
        return jnp.stack(rolling(jnp, q, v))

    def rates(_: Any, x: Any, __: Any) -> Any:
        q, v = x[:5], x[5:]
        mass, rows = jax.hessian(energy, 1)(q, v), jax.jacfwd(constraints, 1)(q, v)
        drift = jax.jvp(lambda q: jax.grad(energy, 1)(q, v), (q,), (v,))[1]
        bias = -jax.jvp(lambda q: constraints(q, v), (q,), (v,))[1]
        matrix = jnp.block([[mass, rows.T], [rows, jnp.zeros((2, 2))]])
        right = jnp.concatenate([jax.grad(energy, 0)(q, v) - drift, bias])
        return jnp.concatenate([v, jnp.linalg.solve(matrix, right)[:5]])

    return diffrax_dopri8(rtol, rates, full_start(), from_full)


def jax_hand(rtol: float) -> Solver:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    return diffrax_dopri8(
        rtol,
        lambda t, x, _: jnp.stack(rates_by_hand(jnp.sin, jnp.cos, x)),
        reduced_start(),
        from_reduced,
    )


def heyoka_solver(
    system: Any, start: np.ndarray, tolerance: Any, unpack: Any, **options: Any
) -> Solver:
    import heyoka as hy

    kind = start.dtype.type
    stepper = hy.taylor_adaptive(system, start, tol=kind(tolerance), fp_type=kind, **options)

    def run() -> np.ndarray:
        stepper.time = kind(0)
        stepper.state[:] = start
        return np.asarray(stepper.propagate_grid(TIMES.astype(kind))[-1].T, dtype=float)

    return Solver(run, unpack)


def determinant(a: Any) -> Any:
    return (
        a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1])
        - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0])
        + a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0])
    )


def heyoka_null_space(rtol: float) -> Solver:
    """Lagrange's equations projected on the velocities that rolling allows, solved by cofactors:
    eight states.
    """
    import heyoka as hy

    hy.llvm_state.set_diskcache_enabled(False)
    q = [hy.expression(name) for name in NAMES]
    v = [hy.expression(name + "_dot") for name in NAMES]
    five, three, diff = range(5), range(3), hy.diff
    energy, constraints = lagrangian(hy, q, v), rolling(hy, q, v)
    mass = [[diff(diff(energy, a), b) for b in v] for a in v]
    force = [
        diff(energy, q[i]) - hy.sum([diff(diff(energy, v[i]), q[j]) * v[j] for j in five])
        for i in five
    ]
    zero, one = hy.expression(0.0), hy.expression(1.0)
    basis = [[-diff(c, v[2 + k]) for k in three] for c in constraints]
    basis += [[one if i == k else zero for k in three] for i in three]
    turning = [
        [hy.sum([diff(basis[i][k], q[j]) * v[j] for j in five]) if i < 2 else zero for k in three]
        for i in five
    ]
    drift = [hy.sum([turning[i][k] * v[2 + k] for k in three]) for i in five]
    rest = [force[i] - hy.sum([mass[i][j] * drift[j] for j in five]) for i in five]
    matrix = [
        [
            hy.sum([basis[i][a] * mass[i][j] * basis[j][b] for i in five for j in five])
            for b in three
        ]
        for a in three
    ]
    right = [hy.sum([basis[i][a] * rest[i] for i in five]) for a in three]
    whole = determinant(matrix)
    rates = [
        determinant([[right[i] if j == k else matrix[i][j] for j in three] for i in three]) / whole
        for k in three
    ]
    slaves = {v[i]: hy.sum([basis[i][k] * v[2 + k] for k in three]) for i in (0, 1)}
    system = [
        (a, hy.subs(b, slaves))
        for a, b in [*zip(q, v, strict=True), *zip(v[2:], rates, strict=True)]
    ]
    return heyoka_solver(
        system, np.concatenate([POSITION, SPEEDS]), rtol, from_speeds, compact_mode=True
    )


def heyoka_hand(rtol: float, kind: type = np.float64) -> Solver:
    import heyoka as hy

    hy.llvm_state.set_diskcache_enabled(False)
    state = hy.make_vars(*NAMES, "turn", "fall", "spin")
    system = list(zip(state, rates_by_hand(hy.sin, hy.cos, state), strict=True))
    return heyoka_solver(system, reduced_start().astype(kind), rtol, from_reduced)


def numba_rates() -> Any:
    """The equations by hand, compiled: f(state, out)."""
    import numba

    across, along, gravity = ACROSS, ALONG, GRAVITY

    @numba.njit
    def rates(y, o):
        psi, theta, turn, fall, spin = y[2], y[3], y[5], y[6], y[7]
        s, c = np.sin(theta), np.cos(theta)
        o[0] = spin * np.cos(psi) + fall * c * np.sin(psi)
        o[1] = spin * np.sin(psi) - fall * c * np.cos(psi)
        o[2] = turn
        o[3] = fall
        o[4] = spin - turn * s
        o[5] = (2 * across * turn * fall * s - along * fall * spin) / (across * c)
        o[6] = (-across * turn * turn * s * c + (along + 1) * turn * spin * c + gravity * s) / (
            across + 1
        )
        o[7] = -turn * fall * c / (along + 1)

    rates(reduced_start(), np.zeros(8))
    return rates


def numba_dop853(rtol: float) -> Solver:
    compiled = numba_rates()

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        out = np.empty(8)
        compiled(x, out)
        return out

    return Solver(scipy_dop853(rates, reduced_start(), rtol), from_reduced)


def sundials_adams(rtol: float) -> Solver:
    import sksundae

    compiled = numba_rates()
    solver = sksundae.cvode.CVODE(
        lambda _, y, out: compiled(y, out),
        rtol=rtol,
        atol=rtol,
        method="Adams",
        max_num_steps=10**6,
    )
    return Solver(lambda: solver.solve(TIMES, reduced_start()).y.T, from_reduced)


def sundials_ida(rtol: float) -> Solver:
    import sksundae

    compiled, rates, derivatives = numba_rates(), np.zeros(8), np.zeros(8)

    def residual(_: float, y: np.ndarray, yp: np.ndarray, out: np.ndarray) -> None:
        compiled(y, rates)
        out[:] = yp - rates

    solver = sksundae.ida.IDA(residual, rtol=rtol, atol=rtol, max_num_steps=10**6)
    compiled(reduced_start(), derivatives)
    return Solver(lambda: solver.solve(TIMES, reduced_start(), derivatives).y.T, from_reduced)
