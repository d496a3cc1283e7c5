"""W7's cases that have an exact answer in joints: oscillators, cradles, rods, a disk, a top.

A case states one mechanism twice, as MJCF text for the peers and as energies for ours, with joints
and coordinates of the same names. Its error is the largest difference to the exact values at the
end. Angles turn about y, from z to x.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from w7_worlds import WORLDS

__all__ = ["CASES", "Case", "jellett", "measured"]

G = 9.81
STEP = 2e-3
TIGHT = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14}


@dataclass(frozen=True)
class Case:
    """A mechanism, its start, and the exact values of joints (or ``joint_dot``) at the end.

    `ours` makes the system; `load` is a force on a joint that depends on time.
    """

    xml: str
    ours: Callable[[], Any]
    start: Mapping[str, tuple[float, float]]
    until: float
    exact: Mapping[str, float]
    springs: Mapping[str, float] = field(default_factory=dict)
    restitution: float | None = None
    load: tuple[str, Callable[[float], float]] | None = None


def measured(case: Case, who: str) -> tuple[float, float]:
    """The error of an entry, and the processor seconds of its steps."""
    if who in WORLDS:
        world = WORLDS[who](case.xml, case.springs, case.restitution)
        for joint, (value, speed) in case.start.items():
            world.turn(joint, value, speed)
        world.advance(case.until, case.load)
        found = {}
        for name in case.exact:
            value, speed = world.joint(name.removesuffix("_dot"))
            found[name] = speed if name.endswith("_dot") else value
        return worst(case, found), world.seconds
    motion, seconds = ours(case, who)
    return worst(case, {name: float(motion[name][-1]) for name in case.exact}), seconds


def worst(case: Case, found: Mapping[str, float]) -> float:
    return max(abs(found[name] - value) for name, value in case.exact.items())


def ours(case: Case, who: str) -> tuple[Any, float]:
    """Our motion, after a run that compiles, and its processor seconds."""
    import dalembert as da

    options: dict[str, Any] = {"method": "moreau", "step": STEP} if who == "dalembert" else {}
    start = {name: value for name, (value, _) in case.start.items()}
    start |= {f"{name}_dot": speed for name, (_, speed) in case.start.items()}
    system = case.ours()
    da.simulate(system, start, (0, case.until), **options)
    began = time.process_time()
    motion = da.simulate(system, start, (0, case.until), **options)
    seconds = time.process_time() - began
    if not motion.success:
        raise SystemExit(motion.message)
    return motion, seconds


# -- mechanisms in a plane -------------------------------------------------------------------------


def scene(bodies: str, mu: float, gravity: float = G, floor: bool = True) -> str:
    ground = f'<geom type="plane" size="50 50 1" friction="{mu} 0 0"/>' if floor else ""
    return (
        f'<mujoco model="scene"><option gravity="0 0 {-gravity}"/><worldbody>{ground}{bodies}'
        "</worldbody></mujoco>"
    )


def planar(geoms: str, inertia: float, mu: float, joints: str = "x z turn", mass: float = 1) -> str:
    """A body that moves in the plane y = 0, on a floor."""
    axes = {"x": ("slide", "1 0 0"), "z": ("slide", "0 0 1"), "turn": ("hinge", "0 1 0")}
    text = "".join(
        f'<joint name="{name}" type="{axes[name][0]}" axis="{axes[name][1]}"/>'
        for name in joints.split()
    )
    body = (
        f'<body name="body">{text}<inertial pos="0 0 0" mass="{mass}"'
        f' diaginertia="{inertia} {inertia} {inertia}"/>{geoms}</body>'
    )
    return scene(body, mu)


def ball_geom(radius: float, mu: float, at: str = "0 0 0") -> str:
    return f'<geom type="sphere" size="{radius}" pos="{at}" friction="{mu} 0 0"/>'


def rigid(contacts: Mapping[str, tuple[float, float, float]], inertia: float, mu: float) -> Any:
    """Mass one in a plane, with balls (x, z, radius) on it that touch the floor z = 0."""
    import sympy

    import dalembert as da

    x, z, turn = da.coordinates("x z turn")
    constraints = []
    for name, (a, c, radius) in contacts.items():
        across = x + a * sympy.cos(turn) + c * sympy.sin(turn)
        above = z - a * sympy.sin(turn) + c * sympy.cos(turn) - radius
        slip = sum(sympy.diff(across, q) * q.dot for q in (x, turn)) - radius * turn.dot
        constraints.append(da.unilateral(above >= 0, friction=mu, tangent=slip, name=name))
    return x, z, turn, constraints, (x.dot**2 + z.dot**2 + inertia * turn.dot**2) / 2


def block(mu: float, k: float, speed: float = 0.0) -> Any:
    """A block on a spring whose end moves away at a speed."""
    import dalembert as da

    x, z = da.coordinates("x z")
    floor = da.unilateral(z >= 0, friction=mu, tangent=x.dot, name="floor")
    return da.System(
        [x, z],
        kinetic=(x.dot**2 + z.dot**2) / 2,
        potential=G * z,
        forces={x: -k * (x + speed * da.t)},
        constraints=[floor],
    )


BLOCK = '<geom type="box" size="0.1 0.1 0.1" pos="0 0 0.1" friction="{mu} 0 0"/>'


def oscillator() -> Case:
    """A block on a spring, released 1 m from its rest: where it stops for good, at 10 s."""
    k, mu = 10.0, 0.1
    x, hold = 1.0, mu * G / k
    while abs(x) > hold:
        x = -math.copysign(abs(x) - 2 * hold, x)
    xml = planar(BLOCK.format(mu=mu), 0.01, mu, "x z")
    start = {"x": (1.0, 0.0), "z": (0.0, 0.0)}
    return Case(xml, lambda: block(mu, k), start, 10.0, {"x": x, "x_dot": 0.0}, {"x": k})


def belt() -> Case:
    """A block on a belt, held by a spring; seen from the belt: where it is after 1.9 s.

    It sticks for 0.49 s, lets go, and swings by speed / w about the place where it let go.
    """
    k, mu, speed, until = 20.0, 0.2, 0.2, 1.9
    hold, w = mu * G / k, math.sqrt(k)
    place = hold + speed / w * math.sin(w * (until - hold / speed)) - speed * until
    xml = planar(BLOCK.format(mu=mu), 0.01, mu, "x z")
    load = ("x", lambda t: -k * speed * t)
    start = {"x": (0.0, 0.0), "z": (0.0, 0.0)}
    return Case(xml, lambda: block(mu, k, speed), start, until, {"x": place}, {"x": k}, None, load)


def cradle(law: str, exact: list[float]) -> Case:
    """Five balls of which four touch; the first one hits with 1 m/s: the speeds after it."""
    r, names = 0.1, [f"x{k}" for k in range(5)]
    bodies = "".join(
        f'<body name="b{k}" pos="{2 * r * k} 0 1"><joint name="x{k}" type="slide" axis="1 0 0"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="0.004 0.004 0.004"/>'
        f"{ball_geom(r, 0.0)}</body>"
        for k in range(5)
    )

    def system() -> Any:
        import dalembert as da

        q = da.coordinates(" ".join(names))
        contacts = [
            da.unilateral(a <= b, restitution=1, name=f"c{k}", law=law)
            for k, (a, b) in enumerate(pairwise(q))
        ]
        return da.System(q, kinetic=sum(each.dot**2 for each in q) / 2, constraints=contacts)

    start = dict.fromkeys(names, (0.0, 0.0)) | {"x0": (-0.1, 1.0)}
    speeds = {f"{name}_dot": value for name, value in zip(names, exact, strict=True)}
    xml = scene(bodies, 0.0, 0.0, floor=False)
    return Case(xml, system, start, 0.5, speeds, restitution=1.0)


def cradle_newton() -> Case:
    return cradle("newton", [0, 0, 0, 0, 1])


def cradle_moreau() -> Case:
    return cradle("moreau", [-0.6, 0.4, 0.4, 0.4, 0.4])


def cradle_poisson() -> Case:
    return cradle("poisson", [-0.6, 0.4, 0.4, 0.4, 0.4])


def rocking() -> Case:
    """Housner's block, let go at half its critical tilt: its tilt at 0.8 s, after one impact."""
    b, h, mu, until = 0.1, 0.4, 1.0, 0.8
    size, alpha = math.hypot(b, h), math.atan2(b, h)
    tilt, rate = alpha / 2, 3 * G / (4 * size)

    def hit(_: float, y: Any) -> float:
        return float(y[0])

    hit.terminal, hit.direction = True, -1  # type: ignore[attr-defined]

    def fall(_: float, y: Any) -> list[float]:
        return [y[1], -rate * math.sin(alpha - y[0])]

    first = solve_ivp(fall, (0, 9), [tilt, 0.0], events=hit, **TIGHT)
    speed = abs(first.y[1, -1]) * (1 - 1.5 * math.sin(alpha) ** 2)
    second = solve_ivp(fall, (first.t[-1], until), [0.0, speed], **TIGHT)
    inertia, corners = (b * b + h * h) / 3, {"left": (-b, -h, 0.0), "right": (b, -h, 0.0)}
    geoms = "".join(ball_geom(1e-4, mu, f"{a} 0 {1e-4 - h}") for a in (1e-4 - b, b - 1e-4))

    def system() -> Any:
        import dalembert as da

        x, z, turn, contacts, kinetic = rigid(corners, inertia, mu)
        return da.System([x, z, turn], kinetic=kinetic, potential=G * z, constraints=contacts)

    place = (-b * math.cos(tilt) + h * math.sin(tilt), b * math.sin(tilt) + h * math.cos(tilt))
    start = {"x": (place[0], 0.0), "z": (place[1], 0.0), "turn": (tilt, 0.0)}
    exact = {"turn": -float(second.y[0, -1])}
    return Case(planar(geoms, inertia, mu), system, start, until, exact)


def disk() -> Case:
    """A disk that springs pull harder than its friction can turn: slips, slips back, grips.

    With x_dd = -k x - s mu g and the rate -k x - 3 s mu g of its slip while it slips by the sign s,
    and 3/2 x_dd = -k x while it grips, which it does where |x| <= 3 mu g / k.
    """
    k, mu, r, until = 10.0, 0.1, 0.1, 3.0
    t, x, v, slip = 0.0, 1.0, 0.0, 0.0
    while t < until:
        if slip == 0.0 and abs(x) <= 3 * mu * G / k:
            w, c, s = math.sqrt(2 * k / 3), 0.0, 0.0
        else:
            w, s = math.sqrt(k), math.copysign(1.0, -x)
            c = -s * mu * G / k

        def at(d: float, c: float = c, w: float = w, x: float = x, v: float = v) -> Any:
            return (
                c + (x - c) * math.cos(w * d) + v / w * math.sin(w * d),
                v * math.cos(w * d) - (x - c) * w * math.sin(w * d),
            )

        def slipped(d: float, s: float = s, v: float = v, slip: float = slip) -> float:
            return slip + (at(d)[1] - v) - 2 * s * mu * G * d

        def over(d: float) -> float:
            return abs(at(d)[0]) - 3 * mu * G / k

        watch = slipped if s else over
        grid = np.linspace(1e-9, until - t, 20001)
        values = [watch(d) for d in grid]
        ends = [a for a, (p, q) in enumerate(pairwise(values)) if p * q < 0]
        d = brentq(watch, grid[ends[0]], grid[ends[0] + 1], xtol=1e-15) if ends else until - t
        slip = 0.0 if ends or not s else slipped(d)
        (x, v), t = at(d), t + d
    xml = planar(ball_geom(r, mu, "0 0 0"), r * r / 2, mu)

    def system() -> Any:
        import dalembert as da

        x, z, turn, contacts, kinetic = rigid({"floor": (0.0, 0.0, r)}, r * r / 2, mu)
        potential = G * z + k * x**2 / 2
        return da.System([x, z, turn], kinetic=kinetic, potential=potential, constraints=contacts)

    start = {"x": (1.0, 0.0), "z": (r, 0.0), "turn": (0.0, 0.0)}
    exact = {"x": x, "x_dot": v, "turn_dot": (v - slip) / r}
    return Case(xml, system, start, until, exact, {"x": k})


# -- Painleve's rod --------------------------------------------------------------------------------

TILT = math.atan(2.0)


def rod(mu: float, spin: float, follow: Callable[[float, Any], Any], begin: float) -> Case:
    """A rod whose tip slides ahead of its centre at 1 m/s: its spin at 10 ms.

    `follow` gives the rates of tilt and spin, from the spin `begin` after a jam, if any.
    """
    until, thick = 0.01, 1e-3
    run = solve_ivp(follow, (0, until), [TILT, begin], **TIGHT)
    geoms = ball_geom(thick, mu, "0.5 0 0")

    def system() -> Any:
        import dalembert as da

        x, z, turn, contacts, kinetic = rigid({"tip": (0.5, 0.0, 0.0)}, 1 / 12, mu)
        return da.System([x, z, turn], kinetic=kinetic, potential=G * z, constraints=contacts)

    start = {
        "x": (0.0, 1 + math.sin(TILT) / 2 * spin),
        "z": (math.sin(TILT) / 2, math.cos(TILT) / 2 * spin),
        "turn": (TILT, spin),
    }
    # The peers' tip is a ball, which stands higher.
    xml = planar(geoms, 1 / 12, mu).replace('size="50 50 1"', f'size="50 50 1" pos="0 0 {-thick}"')
    return Case(xml, system, start, until, {"turn_dot": float(run.y[1, -1])})


def sliding(mu: float) -> Callable[[float, Any], Any]:
    """Rates of a rod whose tip slides forwards: the normal force keeps it on the floor."""

    def rates(_: float, y: Any) -> list[float]:
        s, c = math.sin(y[0]) / 2, math.cos(y[0]) / 2
        push = (G - s * y[1] ** 2) / (1 + 12 * c * c - 12 * mu * s * c)
        return [y[1], 12 * push * (mu * s - c)]

    return rates


def painleve_slides() -> Case:
    return rod(0.3, 0.0, sliding(0.3), 0.0)


def painleve_lifts() -> Case:
    return rod(0.5, 5.0, lambda _, y: [y[1], 0.0], 5.0)


def painleve_jams() -> Case:
    """No solution: the tip stops at once, and the rod turns about it."""
    s, c = math.sin(TILT) / 2, math.cos(TILT) / 2
    matrix = np.array([[1 + 12 * s * s, 12 * c * s], [12 * c * s, 1 + 12 * c * c]])
    along, up = np.linalg.solve(matrix, [-1.0, 0.0])
    after = -12 * (c * up + s * along)
    return rod(2.0, 0.0, lambda _, y: [y[1], -1.5 * G * math.cos(y[0])], float(after))


def painleve_several() -> Case:
    """Two solutions, sliding and lifting off; ours takes the second, which is compared."""
    return rod(2.0, 5.0, lambda _, y: [y[1], 0.0], 5.0)


# -- a top in space --------------------------------------------------------------------------------


def jellett(who: str) -> tuple[float, float]:
    """A tippe top for 1 s: the change of Jellett's invariant L . arm as a part of it, and seconds.

    The arm goes from the mass centre to the contact; friction, of any law, keeps the invariant.
    """
    m, r, mu, tilt, spin, until = 0.05, 0.025, 0.1, 0.1, 150.0, 1.0
    off, inertia = 0.2 * r, 0.4 * m * r * r
    height = r - off * math.cos(tilt)
    if who == "dalembert":
        return stepped_top(m, r, mu, off, inertia, tilt, spin, until)
    if who not in WORLDS:
        case = Case("", lambda: top(m, r, off, inertia, mu), {}, until, {})
        start = {"theta": (tilt, 0.0), "z": (height, 0.0), "psi": (0.0, spin)}
        motion, seconds = ours(replace(case, start=start), who)
        values = motion["jellett"]
        return float(abs(values[-1] / values[0] - 1)), seconds
    xml = scene(
        f'<body name="body"><freejoint/><inertial pos="0 0 0" mass="{m}"'
        f' diaginertia="{inertia} {inertia} {inertia}"/>{ball_geom(r, mu, f"0 0 {off}")}</body>',
        mu,
    )
    world = WORLDS[who](xml, {})
    world.place(
        (0, 0, height), (math.cos(tilt / 2), 0, math.sin(tilt / 2), 0), (0, 0, 0), (0, 0, spin)
    )

    def value() -> float:
        axes, turning = world.body()
        arm = off * axes[:, 2] - r * np.array([0, 0, 1.0])
        return float(inertia * (axes @ turning) @ arm)

    first = value()
    world.advance(until)
    return abs(value() / first - 1), world.seconds


def stepped_top(
    m: float,
    r: float,
    mu: float,
    off: float,
    inertia: float,
    tilt: float,
    spin: float,
    until: float,
) -> tuple[float, float]:
    """The same by time steps, for a body with a quaternion: Euler's angles turn fast upright."""
    import dalembert as da

    b = da.bodies
    body = b.Body("top", m, inertia=(inertia,) * 3, shapes=[b.ball(r, at=(0, 0, off))])
    table = b.ground([b.half_space()])
    touches = b.contact("table", body, table, friction=mu)
    mechanism = b.Mechanism([b.free("top", table, body), touches], gravity=(0, 0, -G))
    start = mechanism.start(
        {
            "top_z": r - off * math.cos(tilt),
            "top_qw": math.cos(tilt / 2),
            "top_qy": math.sin(tilt / 2),
            "top_dot": b.twist(spin=(0, 0, spin)),
        }
    )
    system, options = mechanism.system(), {"method": "moreau", "step": STEP}
    da.simulate(system, start, (0, STEP), **options)
    began = time.process_time()
    motion = da.simulate(system, start, (0, until), **options)
    seconds = time.process_time() - began

    def value(k: int) -> float:
        w, x, y, z = (float(motion[f"top_q{c}"][k]) for c in "wxyz")
        rates = np.array([motion[f"top_q{c}_dot"][k] for c in "wxyz"])
        turning = 2 * np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]]) @ rates
        axis = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z])
        return float(inertia * turning @ (off * axis - r * np.array([0, 0, 1.0])))

    return abs(value(-1) / value(0) - 1), seconds


def top(m: float, r: float, off: float, inertia: float, mu: float) -> Any:
    """A ball whose mass centre is below its middle, in Euler's angles."""
    import sympy
    from sympy import cos, sin

    import dalembert as da

    x, y, z, phi, theta, psi = da.coordinates("x y z phi theta psi")
    axis = sympy.Matrix([sin(theta) * cos(phi), sin(theta) * sin(phi), cos(theta)])
    up, node = sympy.Matrix([0, 0, 1]), sympy.Matrix([-sin(phi), cos(phi), 0])
    spin = phi.dot * up + theta.dot * node + psi.dot * axis
    arm = off * axis - r * up
    slip = (sympy.Matrix([x.dot, y.dot, z.dot]) + spin.cross(arm)).applyfunc(sympy.expand)
    table = da.unilateral(
        r - off * cos(theta) <= z, friction=mu, tangent=(slip[0], slip[1]), name="table"
    )
    roll = psi.dot + phi.dot * cos(theta)
    turning = theta.dot**2 + phi.dot**2 * sin(theta) ** 2 + roll**2
    invariant = roll * (off - r * cos(theta)) - r * phi.dot * sin(theta) ** 2
    return da.System(
        [x, y, z, phi, theta, psi],
        kinetic=m / 2 * (x.dot**2 + y.dot**2 + z.dot**2) + inertia / 2 * turning,
        potential=m * G * z,
        constraints=[table],
        outputs={"jellett": inertia * invariant},
    )


CASES = {
    case.__name__: case
    for case in (
        oscillator,
        belt,
        cradle_newton,
        cradle_moreau,
        cradle_poisson,
        rocking,
        disk,
        painleve_slides,
        painleve_lifts,
        painleve_jams,
        painleve_several,
    )
}
