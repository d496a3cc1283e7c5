"""The peers of W1: how each package's user gets from a planar chain to its right-hand side."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from w1_model import GRAVITY, RightSide, energies, random_state


def casadi_graph(n: int, expand: bool = True) -> Any:
    """The right-hand side as a casadi function; the linear solve expanded to scalars, or kept
    as a loop.
    """
    import casadi as ca

    x = ca.SX.sym("x", 2 * n)
    q, w = x[:n], x[n:]
    kinetic, potential = energies(ca, [q[i] for i in range(n)], [w[i] for i in range(n)])
    mass, momentum = ca.hessian(kinetic, w)
    force = ca.gradient(kinetic - potential, q) - ca.jtimes(momentum, q, w)
    if expand:
        pivots, factor, order = ca.ldl(mass, False)
        return ca.Function("f", [x], [ca.vertcat(w, ca.ldl_solve(force, pivots, factor, order))])
    parts = ca.Function("parts", [x], [mass, force])
    state = ca.MX.sym("x", 2 * n)
    m, f = parts(state)
    return ca.Function("f", [state], [ca.vertcat(state[n:], ca.solve(m, f, "ldl"))])


CASADI_LOOP = """
#include <stdlib.h>
int f(const double**, double**, long long*, double*, int);
int f_work(long long*, long long*, long long*, long long*);
void loop(const double *x, double *y, long calls, int size) {
  long long a, b, c, d;
  f_work(&a, &b, &c, &d);
  const double **arg = malloc((a + 1) * 8);
  double **res = malloc((b + 1) * 8), *w = malloc((d + 1) * 8), *z = malloc(8 * size);
  long long *iw = malloc((c + 1) * 8);
  for (int i = 0; i < size; i++) z[i] = x[i];
  for (long i = 0; i < calls; i++) {
    arg[0] = z; res[0] = y; f(arg, res, iw, w, 0); z[0] = x[0] + 1e-12 * y[0];
  }
  free(arg); free(res); free(w); free(z); free(iw);
}
"""


def casadi_vm(n: int) -> RightSide:
    function = casadi_graph(n)
    return RightSide(function, others={"call_buffer_us": lambda: (casadi_buffer(function, n), 1)})


def casadi_buffer(function: Any, n: int) -> Callable[[], None]:
    """casadi's fast way to call a function from Python, on fixed memory."""
    buffer, run = function.buffer()
    source, target = random_state(n), np.zeros(2 * n)
    buffer.set_arg(0, memoryview(source))
    buffer.set_res(0, memoryview(target))

    def call() -> None:
        run()

    call.keep = (function, buffer, source, target)  # the buffer owns none of them
    return call


def casadi_c(n: int, flag: str, expand: bool = True) -> RightSide:
    import ctypes

    import casadi as ca

    os.chdir(tempfile.mkdtemp())
    casadi_graph(n, expand).generate("f.c")
    Path("loop.c").write_text(CASADI_LOOP)
    subprocess.check_call(
        ["gcc", flag, "-march=native", "-fPIC", "-shared", "f.c", "loop.c", "-o", "f.so", "-lm"]
    )
    function = ca.external("f", "./f.so")
    state, rates, calls = random_state(n), np.zeros(2 * n), max(20, int(2e6 / n**3))
    loop = ctypes.CDLL("./f.so").loop
    arguments = (
        ctypes.c_void_p(state.ctypes.data),
        ctypes.c_void_p(rates.ctypes.data),
        ctypes.c_long(calls),
        2 * n,
    )
    return RightSide(
        function,
        native=lambda: (lambda: loop(*arguments), calls),
        others={"call_buffer_us": lambda: (casadi_buffer(function, n), 1)},
    )


def jax_jit(n: int) -> RightSide:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def kinetic(q: Any, w: Any) -> Any:
        vx, vy = jnp.cumsum(jnp.cos(q) * w), jnp.cumsum(jnp.sin(q) * w)
        return 0.5 * jnp.sum(vx**2 + vy**2)

    def lagrangian(q: Any, w: Any) -> Any:
        return kinetic(q, w) + GRAVITY * jnp.sum(jnp.cumsum(jnp.cos(q)))

    def rates(x: Any) -> Any:
        q, w = x[:n], x[n:]
        mass = jax.hessian(kinetic, 1)(q, w)
        drift = jax.jvp(lambda q: jax.grad(lagrangian, 1)(q, w), (q,), (w,))[1]
        factor = jax.scipy.linalg.cho_factor(mass)
        return jnp.concatenate(
            [w, jax.scipy.linalg.cho_solve(factor, jax.grad(lagrangian, 0)(q, w) - drift)]
        )

    compiled = jax.jit(rates)
    state, calls, batch = random_state(n), 2000, 256

    def native() -> tuple[Callable[[], Any], int]:
        loop = jax.jit(lambda x: jax.lax.fori_loop(0, calls, lambda _, y: x + 1e-12 * rates(y), x))
        return lambda: loop(state).block_until_ready(), calls

    def vectorised() -> tuple[Callable[[], Any], int]:
        many, states = jax.jit(jax.vmap(rates)), jnp.asarray(np.tile(state, (batch, 1)))
        return lambda: many(states).block_until_ready(), batch

    return RightSide(lambda x: compiled(x).block_until_ready(), native, {"batch_us": vectorised})


def symengine_llvm(n: int) -> RightSide:
    import symengine as se

    q, w = list(se.symbols(f"q0:{n}")), list(se.symbols(f"w0:{n}"))
    kinetic, potential = energies(se, q, w)
    lagrangian = kinetic - potential
    momenta = [lagrangian.diff(rate) for rate in w]
    mass = [p.diff(rate) for p in momenta for rate in w]
    drift = [sum((p.diff(q[j]) * w[j] for j in range(n)), se.Integer(0)) for p in momenta]
    force = [lagrangian.diff(q[i]) - drift[i] for i in range(n)]
    function = se.Lambdify(q + w, mass + force, cse=True, backend="llvm")

    def call(x: np.ndarray) -> np.ndarray:
        values = function(x)
        return np.concatenate(
            [x[n:], np.linalg.solve(values[: n * n].reshape(n, n), values[n * n :])]
        )

    return RightSide(call)


def heyoka_cfunc(n: int) -> RightSide:
    import heyoka as hy

    hy.llvm_state.set_diskcache_enabled(False)
    hy.set_nthreads(1)
    q = [hy.expression(f"q{i}") for i in range(n)]
    w = [hy.expression(f"w{i}") for i in range(n)]
    kinetic, potential = energies(hy, q, w)
    rates = {str(variable): rate for variable, rate in hy.lagrangian(kinetic - potential, q, w)}
    function = hy.cfunc([rates[str(variable)] for variable in q + w], q + w)
    batch = 1024

    def vectorised() -> tuple[Callable[[], Any], int]:
        states = np.ascontiguousarray(np.tile(random_state(n)[:, None], (1, batch)))
        target = np.zeros_like(states)
        return lambda: function(states, outputs=target), batch

    return RightSide(function, others={"batch_us": vectorised})


def sympy_functions(mass: Any, force: Any, q: Any, u: Any) -> RightSide:
    """lambdify with common subexpressions, and numpy's solve."""
    import sympy as sp

    n = len(q)
    function = sp.lambdify([list(q), list(u)], [mass, force], modules="numpy", cse=True)

    def call(x: np.ndarray) -> np.ndarray:
        m, f = function(x[:n], x[n:])
        return np.concatenate([x[n:], np.linalg.solve(m, f)[:, 0]])

    return RightSide(call)


def sympy_lagrange(n: int) -> RightSide:
    import sympy as sp
    import sympy.physics.mechanics as me

    q, u = me.dynamicsymbols(f"q0:{n}"), me.dynamicsymbols(f"u0:{n}")
    velocities = [angle.diff(me.dynamicsymbols._t) for angle in q]
    kinetic, potential = energies(sp, q, velocities)
    method = me.LagrangesMethod(kinetic - potential, q)
    method.form_lagranges_equations()
    speeds = dict(zip(velocities, u, strict=True))
    return sympy_functions(method.mass_matrix.subs(speeds), method.forcing.subs(speeds), q, u)


def kane(n: int, gravity: Any) -> tuple[Any, Any, Any, Any]:
    """Mass matrix and force by Kane's method, with coordinates and speeds."""
    import sympy as sp
    import sympy.physics.mechanics as me

    q, u = me.dynamicsymbols(f"q0:{n}"), me.dynamicsymbols(f"u0:{n}")
    ground, point = me.ReferenceFrame("N"), me.Point("O")
    point.set_vel(ground, 0)
    particles, loads = [], []
    for i in range(n):
        frame = ground.orientnew(f"A{i}", "Axis", (q[i], ground.z))
        frame.set_ang_vel(ground, u[i] * ground.z)
        end = point.locatenew(f"P{i}", -frame.y)
        end.v2pt_theory(point, ground, frame)
        particles.append(me.Particle(f"b{i}", end, sp.Integer(1)))
        loads.append((end, -gravity * ground.y))
        point = end
    rates = [angle.diff(me.dynamicsymbols._t) - speed for angle, speed in zip(q, u, strict=True)]
    method = me.KanesMethod(ground, q_ind=q, u_ind=u, kd_eqs=rates)
    method.kanes_equations(particles, loads)
    return method.mass_matrix, method.forcing, q, u


def sympy_kane(n: int) -> RightSide:
    return sympy_functions(*kane(n, GRAVITY))


def pydy_cython(n: int) -> RightSide:
    import sympy as sp
    from pydy.codegen.ode_function_generators import generate_ode_function

    gravity = sp.Symbol("g")
    mass, force, q, u = kane(n, gravity)
    rates = generate_ode_function(
        force,
        list(q),
        list(u),
        [gravity],
        mass_matrix=mass,
        coordinate_derivatives=sp.Matrix(u),
        generator="cython",
    )
    constants = np.array([GRAVITY])
    return RightSide(lambda x: rates(x, 0.0, constants))


def relative_angles(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint angles and rates from absolute ones; packages of rigid bodies count from link to
    link.
    """
    n = len(x) // 2
    return np.diff(x[:n], prepend=0.0), np.diff(x[n:], prepend=0.0)


def pinocchio_aba(n: int) -> RightSide:
    import pinocchio as pin

    model, joint = pin.Model(), 0
    model.gravity = pin.Motion(np.array([0, 0, -GRAVITY]), np.zeros(3))
    for i in range(n):
        place = pin.SE3(np.eye(3), np.array([0, 0, -1.0 if i else 0.0]))
        joint = model.addJoint(joint, pin.JointModelRX(), place, f"j{i}")
        mass = pin.Inertia(1.0, np.array([0, 0, -1.0]), np.zeros((3, 3)))
        model.appendBodyToJoint(joint, mass, pin.SE3.Identity())
    data, torque = model.createData(), np.zeros(n)
    angles, rates = relative_angles(random_state(n))

    def call(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], np.cumsum(pin.aba(model, data, *relative_angles(x), torque))])

    return RightSide(call, native=lambda: (lambda: pin.aba(model, data, angles, rates, torque), 1))


def mujoco_forward(n: int) -> RightSide:
    import mujoco as mj

    bodies = "".join(
        f'<body pos="0 0 {-1 if i else 0}"><joint type="hinge" axis="1 0 0"/>'
        '<inertial pos="0 0 -1" mass="1" diaginertia="1e-10 1e-10 1e-10"/>'
        for i in range(n)
    )
    option = (
        f'<option gravity="0 0 -{GRAVITY}"><flag contact="disable" constraint="disable"/></option>'
    )
    model = mj.MjModel.from_xml_string(
        f"<mujoco>{option}<worldbody>{bodies}{'</body>' * n}</worldbody></mujoco>"
    )
    data = mj.MjData(model)

    def call(x: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:] = relative_angles(x)
        mj.mj_forward(model, data)
        return np.concatenate([x[n:], np.cumsum(data.qacc)])

    return RightSide(call, native=lambda: (lambda: mj.mj_forward(model, data), 1))


def drake_plant(n: int) -> RightSide:
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia, UnitInertia

    plant = MultibodyPlant(0.0)
    frame = plant.world_body().body_frame()
    for i in range(n):
        inertia = SpatialInertia(1.0, np.array([0, 0, -1.0]), UnitInertia(1.0, 1.0, 0.0))
        body = plant.AddRigidBody(f"b{i}", inertia)
        plant.AddJoint(RevoluteJoint(f"j{i}", frame, body.body_frame(), [1, 0, 0]))
        if i + 1 < n:
            tip = FixedOffsetFrame(f"f{i}", body.body_frame(), RigidTransform([0, 0, -1.0]))
            frame = plant.AddFrame(tip)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
    plant.Finalize()
    context = plant.CreateDefaultContext()

    def call(x: np.ndarray) -> np.ndarray:
        plant.SetPositionsAndVelocities(context, np.concatenate(relative_angles(x)))
        return np.concatenate(
            [x[n:], np.cumsum(plant.EvalTimeDerivatives(context).CopyToVector()[n:])]
        )

    return RightSide(call)


def hand_c(n: int, source: str) -> RightSide:
    import ctypes

    os.chdir(tempfile.mkdtemp())
    text = (Path(__file__).parent / source).read_text()
    Path("f.c").write_text(f"#define N {n}\n{text}")
    subprocess.check_call(
        [
            "gcc",
            "-O3",
            "-march=native",
            "-ffast-math",
            "-fPIC",
            "-shared",
            "f.c",
            "-o",
            "f.so",
            "-lm",
        ]
    )
    library = ctypes.CDLL("./f.so")
    state, rates, calls = random_state(n), np.zeros(2 * n), 2000
    to, target = ctypes.c_void_p(state.ctypes.data), ctypes.c_void_p(rates.ctypes.data)

    def call(x: np.ndarray) -> np.ndarray:
        library.rhs(ctypes.c_void_p(x.ctypes.data), target)
        return rates

    return RightSide(
        call, native=lambda: (lambda: library.loop(to, target, ctypes.c_long(calls)), calls)
    )
