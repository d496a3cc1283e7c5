r"""Contacts with Coulomb's friction at one instant: a complementarity problem in contact space.

With the forces P (normal, tangential) of all contacts, the accelerations of the gaps and the slips
are a = c + W P, where W = J G^-1 J^T is Gauss's problem seen from the contacts. Each contact has

    normal      a_n >= 0,   P_n >= base,   a_n (P_n - base) = 0,
    tangential  |P_t| <= mu P_n,  and  P_t = -mu P_n s,

where s is the direction of the slip, given where there is one, and that of a_t where it starts.
A two-sided constraint that presses has a_n = 0 and a force of either sign, whose size is the load.
A friction limit has only the second line, with the load P_n of another row, the norm of the forces
of several, or a given one.
Impacts are the same problem one derivative lower (`impact_laws`). A state of a contact is whether
it is closed and whether it grips; for given states the problem is linear, apart from the directions
of slips that start in space, which Newton's iteration finds. The states are found by exchanging the
first that is wrong (Murty 1988, section 4.1), which ends where W is a P-matrix; if it does not, and
where friction makes the problem not monotone, all states are tried: then it may have no solution or
several (Painleve).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ...errors import ContradictionError, SingularError
from ...runtime.gauss.constrained_solve import rank, solve_rows
from ...typing import Array
from .coulomb_states import NOISE, OPEN, ContactSolution, CoulombContact, Grip, NoSolutionError
from .force_split import ContactCones
from .norm_loads import norm_loads

__all__ = ["every_solution", "solve_contacts", "solve_rows_of"]

#: The most exchanges of states, states that are tried, and steps of Newton's iteration.
MOST_EXCHANGES, MOST_STATES, MOST_NEWTON, MOST_SWEEPS = 100, 4096, 20, 300
#: Forces of sweeps that grow beyond this do not converge.
DIVERGED = 1e100
#: Directions from which the slip of a contact in space is searched where it starts.
ANGLES = 6


def solve_contacts(
    matrix: Array, free: Array, contacts: Sequence[CoulombContact]
) -> ContactSolution:
    """Solve the contact problem a = free + matrix @ P; the order of the contacts does not matter.

    Raises
    ------
    NoSolutionError
        Where no state of the contacts obeys the law.

    Examples
    --------
    >>> block = CoulombContact("floor", 0, (1,), kinetic=0.5, static=0.5)
    >>> found = solve_contacts(np.eye(2), np.array([-10.0, 3.0]), [block])
    >>> found.states["floor"].sticks, found.forces.tolist()
    (True, [10.0, -3.0])
    >>> found = solve_contacts(np.eye(2), np.array([-10.0, 8.0]), [block])
    >>> found.states["floor"].slip, found.accelerations.tolist()
    ((1.0,), [0.0, 3.0])
    """
    ordered = tuple(sorted(contacts, key=lambda contact: contact.name))
    problem = _Problem(np.asarray(matrix, float), np.asarray(free, float), ordered)
    if not problem.is_paradoxical():
        found = problem.exchange({}) or problem.exchange(problem.guess())
        if found is not None:
            return problem.beside(found)
    every = problem.every()
    if not every:
        raise NoSolutionError(
            "No state of the contacts was found that obeys Coulomb's law: "
            + ", ".join(f"`{contact.name}`" for contact in contacts),
            seen=f"{len(contacts)} contacts",
            remedy="reduce the friction, or give the contact a compliance",
        )
    return replace(every[0], others=tuple(every[1:]))


def every_solution(
    matrix: Array, free: Array, contacts: Sequence[CoulombContact]
) -> list[ContactSolution]:
    """Every solution of the contact problem, by trying all states; few closed contacts first."""
    return _Problem(np.asarray(matrix, float), np.asarray(free, float), tuple(contacts)).every()


@dataclass(frozen=True)
class _Problem:
    matrix: Any
    free: Any
    contacts: tuple[CoulombContact, ...]

    def is_paradoxical(self) -> bool:
        """Whether pushing a contact that slips, with its friction, draws it closer."""
        for c in (each for each in self.contacts if each.kind != "limit"):
            cross = sum(
                each.kinetic * float(self.matrix[c.normal, list(each.tangents)] @ each.direction)
                for each in self.rubbing(c)
                if each.direction is not None
            )
            cross = abs(cross) if c.kind == "held" else cross
            if cross > 0 and self.matrix[c.normal, c.normal] <= cross:
                return True
        return False

    def rubbing(self, contact: CoulombContact) -> list[CoulombContact]:
        """What rubs with the normal force of a contact: itself, and friction limits."""
        if contact.kind == "limit":
            return [contact]
        attached = (c for c in self.contacts if c.kind == "limit" and c.normal == contact.normal)
        return [contact, *attached]

    # -- states ------------------------------------------------------------------------------------

    def closed(self, contact: CoulombContact) -> Grip:
        """The state in which a contact closes."""
        if contact.kind == "held" and self.free[contact.normal] > 0:
            return Grip(True, side=-1)
        if not contact.tangents:
            return Grip(True)
        if contact.direction is not None:
            return Grip(True, slip=tuple(contact.direction))
        return Grip(True, sticks=True) if contact.grips else self._slipping(contact, None)

    def _slipping(self, contact: CoulombContact, forces: Any) -> Grip:
        """A slip that starts against the friction, or along what drives it."""
        drive = (
            self.free[list(contact.tangents)] if forces is None else -forces[list(contact.tangents)]
        )
        size = float(np.linalg.norm(drive))
        way = drive / size if size > 0 else np.eye(len(drive))[0]
        return Grip(True, slip=tuple(way.tolist()))

    def exchange(self, first: Mapping[str, Grip]) -> ContactSolution | None:
        """Exchange the first state that is wrong until none is; None where that does not end."""
        states = {c.name: first.get(c.name) or self.closed(c) for c in self.contacts}
        seen: set[tuple[Any, ...]] = set()
        for _ in range(MOST_EXCHANGES):
            key = tuple((name, grip.key) for name, grip in states.items())
            if key in seen:
                return None
            seen.add(key)
            found = self.at(states)
            if found is None:
                return None
            wrong = next(self._wrong(found), None)
            if wrong is None:
                return found
            states = dict(found.states) | {wrong[0].name: wrong[1]}
        return None

    def beside(self, found: ContactSolution) -> ContactSolution:
        """A solution with another one beside it, if contacts that open at first lead to another."""
        if sum(bool(c.tangents) for c in self.contacts) < 2:
            return found
        opened = {c.name: OPEN for c in self.contacts if c.base <= 0 and c.kind == "contact"}
        other = self.exchange(opened)
        if other is None or self._is_same(found, other):
            return found
        return replace(found, others=(other,))

    def guess(self) -> dict[str, Grip]:
        """States near a solution, by projected Gauss-Seidel sweeps (Moreau; Jean 1999)."""
        forces = np.zeros(len(self.free))
        for c in self.contacts:
            if c.kind == "contact":
                forces[c.normal] = c.base
        for _ in range(MOST_SWEEPS):
            before = forces.copy()
            for c in self.contacts:
                self._relax(c, forces)
            size = np.abs(forces).max(initial=0.0)
            if np.abs(forces - before).max() <= 1e-9 * size or size > DIVERGED:
                break
        return {c.name: self._read(c, forces) for c in self.contacts}

    def _relax(self, c: CoulombContact, forces: Any) -> None:
        """Give a contact the force that its law wants while the others keep theirs."""
        rows = list(c.tangents)
        stiff = float(self.matrix[c.normal, c.normal]) if c.kind != "limit" else 0.0
        if stiff > 0:
            speed = self.free[c.normal] + self.matrix[c.normal] @ forces
            least = -np.inf if c.kind == "held" else c.base
            forces[c.normal] = max(least, forces[c.normal] - speed / stiff)
        if c.direction is not None:
            forces[rows] = -c.kinetic * c.load(forces) * c.direction
        elif rows:
            speeds = self.free[rows] + self.matrix[rows] @ forces
            trial = forces[rows] - speeds / np.trace(self.matrix[np.ix_(rows, rows)])
            size, limit = float(np.linalg.norm(trial)), c.kinetic * c.load(forces)
            forces[rows] = trial * (limit / size if size > limit else 1.0)

    def _read(self, c: CoulombContact, forces: Any) -> Grip:
        """The state that the force of a contact shows."""
        grip = self.closed(c)
        if c.kind == "held":
            return replace(grip, side=1 if forces[c.normal] >= 0 else -1)
        small = 1e-9 * np.abs(forces).max(initial=0.0)
        if c.kind == "contact" and forces[c.normal] <= c.base + small:
            return OPEN if c.base <= 0 else replace(grip, closed=False)
        rub = float(np.linalg.norm(forces[list(c.tangents)]))
        slides = rub >= (1 - 1e-6) * c.kinetic * c.load(forces)
        return self._slipping(c, forces) if grip.sticks and slides else grip

    def every(self) -> list[ContactSolution]:
        """Every solution, those with the fewest closed contacts first."""
        options = [list(self._options(contact)) for contact in self.contacts]
        if np.prod([float(len(each)) for each in options]) > MOST_STATES:
            raise SingularError(
                "Coulomb's law of so many contacts has no solution that was found",
                seen=f"{len(self.contacts)} contacts that touch",
                remedy="state fewer contacts",
            )
        found: list[ContactSolution] = []
        for grips in product(*options):
            names = [contact.name for contact in self.contacts]
            solution = self.at(dict(zip(names, grips, strict=True)))
            if solution is None or next(self._wrong(solution), None) is not None:
                continue
            if not any(self._is_same(solution, other) for other in found):
                found.append(solution)
        return sorted(found, key=lambda s: sum(grip.closed for grip in s.states.values()))

    def _options(self, contact: CoulombContact) -> Iterator[Grip]:
        if contact.kind == "held":
            yield from (Grip(True), Grip(True, side=-1))
            return
        if contact.kind == "contact":
            yield OPEN if contact.base <= 0 else Grip(False, sticks=True)
        if contact.direction is not None or not contact.tangents:
            yield self.closed(contact)
            return
        closed = (False, True) if contact.base > 0 and contact.kind == "contact" else (True,)
        if contact.grips:
            yield Grip(True, sticks=True)
        ways = (
            [(1.0,), (-1.0,)]
            if len(contact.tangents) == 1
            else [
                (float(np.cos(angle)), float(np.sin(angle)))
                for angle in 2 * np.pi * np.arange(ANGLES) / ANGLES
            ]
        )
        for is_closed in closed:
            yield from (Grip(is_closed, slip=way) for way in ways)

    def _is_same(self, one: ContactSolution, other: ContactSolution) -> bool:
        """Whether two solutions move alike; forces of contacts that depend on others may differ."""
        size = np.abs(self.free) + np.abs(self.matrix) @ np.abs(one.forces)
        off = np.abs(one.accelerations - other.accelerations)
        return bool(off.max(initial=0.0) <= 1e-7 * size.max(initial=0.0))

    # -- what holds --------------------------------------------------------------------------------

    def _wrong(self, found: ContactSolution) -> Iterator[tuple[CoulombContact, Grip]]:
        """The contacts whose state breaks the law, each with the state to try instead."""
        forces, speeds = found.forces, found.accelerations
        noise = NOISE * (np.abs(self.matrix) @ np.abs(forces) + np.abs(self.free))
        for c in self.contacts:
            grip, rows = found.states[c.name], list(c.tangents)
            place = c.normal if c.normal >= 0 else rows[0]
            push, width = c.load(forces), np.sqrt(self.matrix[place, place])
            small = noise[place] / width**2 if width > 0 else 0.0
            is_contact = c.kind == "contact"
            if c.kind == "held":
                if forces[c.normal] * grip.side < -small:
                    yield c, replace(grip, side=-grip.side)
            elif is_contact and not grip.closed and speeds[c.normal] < -noise[c.normal]:
                yield c, replace(self.closed(c), sticks=grip.sticks or self.closed(c).sticks)
            elif is_contact and grip.closed and forces[c.normal] < c.base - small:
                yield c, OPEN if c.base <= 0 else replace(grip, closed=False)
            elif grip.sticks:
                rub = float(np.linalg.norm(forces[rows]))
                if rub > c.static * push * (1 + NOISE) + small:
                    yield c, replace(self._slipping(c, forces), closed=grip.closed)
            elif grip.slip is not None and c.direction is None:
                back = -float(speeds[rows] @ np.array(grip.slip))
                if back > float(noise[rows].max()):
                    yield c, Grip(grip.closed, sticks=c.grips, slip=None if c.grips else grip.slip)

    def at(self, states: Mapping[str, Grip]) -> ContactSolution | None:
        """Forces and accelerations in given states; None where they are not determined."""
        slips = [
            (c, slip)
            for c in self.contacts
            if c.direction is None and len(c.tangents) == 2
            and (slip := states[c.name].slip) is not None
        ]  # fmt: skip
        turning = [c for c, _ in slips]
        angles = np.array([np.arctan2(slip[1], slip[0]) for _, slip in slips])
        try:
            if turning:
                angles = self._turned(states, turning, angles)
            forces, speeds = self._linear(states, turning, angles)
        except (np.linalg.LinAlgError, SingularError, ContradictionError):
            return None
        if not (np.isfinite(forces).all() and np.isfinite(speeds).all()):
            return None
        turned = {
            c.name: replace(states[c.name], slip=(float(np.cos(a)), float(np.sin(a))))
            for c, a in zip(turning, angles, strict=True)
        }
        return ContactSolution(dict(states) | turned, forces, speeds)

    def _turned(
        self, states: Mapping[str, Grip], turning: Sequence[CoulombContact], angles: Any
    ) -> Any:
        """The angles at which slips that start follow their accelerations, by Newton's iteration.

        Derivatives are complex steps, which are exact.
        """

        def aside(at: Any) -> Any:
            _, speeds = self._linear(states, turning, at)
            return np.array(
                [
                    speeds[c.tangents[1]] * np.cos(a) - speeds[c.tangents[0]] * np.sin(a)
                    for c, a in zip(turning, at, strict=True)
                ]
            )

        count = len(turning)
        rows = [list(c.tangents) for c in turning]
        for _ in range(MOST_NEWTON):
            now = aside(angles)
            derivatives = np.array(
                [aside(angles + 1e-30j * e).imag / 1e-30 for e in np.eye(count)]
            ).T
            forces, _ = self._linear(states, turning, angles)
            scale = NOISE * np.array(
                [
                    (np.abs(self.matrix[r]) @ np.abs(forces) + np.abs(self.free[r])).max()
                    for r in rows
                ]
            )
            if (np.abs(now) <= 1e-3 * scale).all():
                return angles
            step = np.linalg.solve(derivatives, -now)
            angles = angles + step / max(1.0, float(np.abs(step).max()) / 0.5)
            if np.abs(step).max() < 1e-15 and (np.abs(now) <= scale).all():
                return angles
        raise np.linalg.LinAlgError("no direction")

    def _linear(
        self, states: Mapping[str, Grip], turning: Sequence[CoulombContact], angles: Any
    ) -> tuple[Any, Any]:
        """The problem of given states and directions, linear once norms of forces are known."""
        normed = {
            c.name: c.presses
            for c in self.contacts
            if c.presses is not None and states[c.name].slip is not None
        }
        none = dict.fromkeys(normed, 0.0)
        forces, speeds = self._with_loads(states, turning, angles, none)
        if not normed:
            return forces, speeds
        by = [self._with_loads(states, turning, angles, none | {name: 1.0}) for name in normed]
        parts, changes = (np.array([each[k] for each in by]) for k in (0, 1))
        loads = norm_loads(forces, parts - forces, tuple(normed.values()))
        return forces + loads @ (parts - forces), speeds + loads @ (changes - speeds)

    def _with_loads(
        self,
        states: Mapping[str, Grip],
        turning: Sequence[CoulombContact],
        angles: Any,
        loads: Mapping[str, float],
    ) -> tuple[Any, Any]:
        """The linear problem of given states, directions and loads that are norms."""
        m = len(self.free)
        ways = {
            c.name: np.array([np.cos(a), np.sin(a)]) for c, a in zip(turning, angles, strict=True)
        }
        kind = complex if np.iscomplexobj(angles) else float
        columns, kept, given = [], [], np.zeros(m, kind)
        for c in self.contacts:
            grip = states[c.name]
            push = np.zeros(m, kind)
            for each in self.rubbing(c):
                slip = states[each.name].slip
                if slip is not None:
                    way = ways.get(each.name, np.array(slip))
                    push[list(each.tangents)] -= each.kinetic * way
            if c.kind != "limit":
                push[c.normal] = grip.side
            if grip.closed and c.kind != "limit":
                columns.append(push)
                kept.append(c.normal)
            else:
                given += loads.get(c.name, c.base) * push
            if grip.sticks:
                columns += list(np.eye(m)[list(c.tangents)])
                kept += c.tangents
        forces = given
        if kept:
            basis = np.array(columns).T
            held = (self.matrix @ basis)[kept]
            forces = given + basis @ solve_rows_of(held, -(self.free + self.matrix @ given)[kept])
            if kind is float:
                forces = self._split(states, forces, basis, held)
        speeds = self.free + self.matrix @ forces
        speeds[kept] = 0.0
        return forces, speeds

    def _split(self, states: Mapping[str, Grip], forces: Any, basis: Any, held: Any) -> Any:
        """The forces inside the cones, where contacts that depend on each other leave a choice."""
        size = np.sqrt(np.abs(np.diag(held)))
        size = np.where(size > 0, size, 1.0)
        null = rank(held / np.outer(size, size)).null_space
        if not null.size:
            return forces
        closed = [c for c in self.contacts if states[c.name].closed or c.kind == "limit"]
        sticking = {name for name, grip in states.items() if grip.sticks}
        cones = ContactCones(self.matrix, closed, sticking)
        return cones.inside(forces, basis @ (null / size[:, None]))


def solve_rows_of(matrix: Any, right: Any) -> Any:
    """x with matrix @ x = right, of least norm where contacts depend on each other."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    size = np.where(size > 0, size, 1.0)
    scaled, wanted = matrix / np.outer(size, size), right / size
    if rank(scaled.real).rank == len(right):
        return np.linalg.solve(scaled, wanted) / size
    if np.iscomplexobj(scaled):
        raise np.linalg.LinAlgError("dependent contacts")
    found = solve_rows(scaled, wanted)
    if np.abs(scaled @ found - wanted).max() > 1e-9 * (
        np.abs(wanted).max() + np.abs(scaled).max() * np.abs(found).max()
    ):
        raise np.linalg.LinAlgError("contacts that contradict each other")
    return found / size
