"""The cheapest step of a biped of five links, with the impact that follows from its contacts.

M. Kelly's walker (SIAM Review 59, 2017) with a free base at its left foot. One phase, in which the
left foot sticks, is repeated with the legs exchanged after the right foot has hit the floor.
"""

from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import Phase, integral, optimise_phases

x, y = da.coordinates("x y")
angles, torques = da.coordinates("q1 q2 q3 q4 q5"), da.inputs("u1 u2 u3 u4")
every = [x, y, *angles]


def place(*arms):
    return (
        x - sum(arm * sin(q) for arm, q in zip(arms, angles, strict=True)),
        y + sum(arm * cos(q) for arm, q in zip(arms, angles, strict=True)),
    )


def rate(expression):
    return sum(expression.diff(q) * q.dot for q in every)


links = [
    (3.2, 0.93, place(0.272, 0, 0, 0, 0)),
    (6.8, 1.08, place(0.4, 0.237, 0, 0, 0)),
    (20, 2.22, place(0.4, 0.4, 0.425, 0, 0)),
    (6.8, 1.08, place(0.4, 0.4, 0, -0.163, 0)),
    (3.2, 0.93, place(0.4, 0.4, 0, -0.4, -0.128)),
]
foot = place(0.4, 0.4, 0, -0.4, -0.4)
hip, knees = place(0.4, 0.4, 0, 0, 0), (place(0.4, 0, 0, 0, 0), place(0.4, 0.4, 0, -0.4, 0))
limbs = [((x, y), knees[0]), (knees[0], hip), (hip, place(0.4, 0.4, 0.625, 0, 0)), (hip, knees[1])]
joints = [0, *torques, 0]
walker = da.System(
    every,
    kinetic=sum(
        inertia / 2 * q.dot**2 + mass / 2 * (rate(centre[0]) ** 2 + rate(centre[1]) ** 2)
        for (mass, inertia, centre), q in zip(links, angles, strict=True)
    ),
    potential=9.81 * sum(mass * centre[1] for mass, _, centre in links),
    forces={q: joints[k] - joints[k + 1] for k, q in enumerate(angles)},
    inputs=list(torques),
    constraints=[
        da.unilateral(y >= 0, friction=0.8, tangent=x.dot, name="left"),
        da.unilateral(foot[1] >= 0, friction=0.8, tangent=rate(foot[0]), name="right"),
    ],
    drawing=[
        da.draw.ground((-0.7, 0), (0.8, 0)),
        *(da.draw.link(*limb) for limb in limbs),
        da.draw.link(knees[1], foot, color="body"),
    ],
    name="walker",
)
rates = [q.dot for q in angles]
first = [-0.3, 0.7, 0.0, -0.5, -0.6]
step = optimise_phases(
    [Phase(walker, closed=["left"])],
    integral(sum(u**2 for u in torques)),
    {x: 0},
    {foot[0]: 0.5},
    (0, 0.7),
    periodic=[*angles, *rates],
    relabel=dict(zip(angles, angles[::-1], strict=True)) | {"left": "right", "right": "left"},
    bounds={**dict.fromkeys(angles, (-pi / 2, pi / 2)), **dict.fromkeys(torques, (-100, 100))},
    guess={q: first[k] + (first[4 - k] - first[k]) * da.t / 0.7 for k, q in enumerate(angles)},
)
motion = step.motion
push = step.impacts[0].impulses
print(f"one step: {step.cost:.5f}")
print(f"  impulse of the foot {push['right']:.4f} up, {push['right_tangent1']:.4f} along the floor")
for change in motion.modes:
    print(f"  simulate: {change.contact} {change.mode} ({change.reason})")
print(f"  replay distance     {step.replay_distance:.1e}")
