r"""Contacts between the solids of bodies in a step: which are near, where they touch, their rows.

Solids whose extents along x overlap are found by sweeping over their sorted ends, kept in order
from step to step. Extents have a margin of what the bodies may move in the step, so that a contact
is there before it closes. With the contact point c, the normal n from the second body to the first
and the tangents t_k, the rows of a contact are those of

    (n, t_1, t_2) . (v_1 + w_1 x (c - r_1) - v_2 - w_2 x (c - r_2)).
"""

from __future__ import annotations

from math import sqrt

from ....codegen.native.language import Reals, native, rare
from ....runtime.projection import run_program
from ...contact_fields import ContactFields, ShapeFields
from ...run_fields import FixedFields
from .cone_solve import CONTACT
from .solid_distances import BALLS, FACE_OF_FIRST, PLANE, RECORD, meet_solids

__all__ = ["gather_shapes", "remembered_slot", "shape_gap", "update_poses"]

#: Features of a pair of solids that are told apart.
FEATURES = 64
HASH = 2654435761


@rare
def update_poses(context: FixedFields, state: Reals) -> None:
    """The poses of bodies and solids at a state."""
    s = context.shapes
    run_program(context, s.pose_program, state, s.pose_values)
    for k in range(s.n_solids):
        pose, place = s.pose_values + s.body_first[s.solid_body[k]], s.places + 12 * k
        frame = s.frames + 12 * k
        for i in range(3):
            total = pose[9 + i]
            for j in range(3):
                total += pose[3 * i + j] * place[9 + j]
                entry = 0.0
                for l in range(3):
                    entry += pose[3 * i + l] * place[3 * l + j]
                frame[3 * i + j] = entry
            frame[9 + i] = total


@native
def twist_speed(s: ShapeFields, b: int, v: Reals, radius: float) -> float:
    """How fast points of a body within a radius of its origin move, at most."""
    first, count = s.body_dof_first[b], s.body_dof_first[b + 1] - s.body_dof_first[b]
    values, dofs = s.pose_values + s.body_first[b], s.body_dofs + first
    jacobian = values + 18
    size = 0.0
    for part in range(2):
        squares = 0.0
        for i in range(3):
            row = 3 * part + i
            total = values[12 + row]
            for j in range(count):
                total += jacobian[row * count + j] * v[dofs[j]]
            squares += total * total
        size += sqrt(squares) * (1.0 if part == 0 else radius)
    return size


@rare
def sort_extents(s: ShapeFields, h: float, before: Reals, free: Reals) -> None:
    """Extents of the solids along x with their margins, in order of their lower ends."""
    for k in range(s.n_solids):
        b, frame = s.solid_body[k], s.frames + 12 * k
        radius, away = s.radii[k], s.places + 12 * k + 9
        arm = radius + sqrt(away[0] ** 2 + away[1] ** 2 + away[2] ** 2)
        margin = 2.0 * h * max(twist_speed(s, b, before, arm), twist_speed(s, b, free, arm))
        s.speeds[k] = margin
        s.extents[2 * k] = frame[9] - radius - margin
        s.extents[2 * k + 1] = frame[9] + radius + margin
    for i in range(1, s.n_order):
        k = s.order[i]
        low = s.extents[2 * k]
        j = i
        while j > 0 and s.extents[2 * s.order[j - 1]] > low:
            s.order[j] = s.order[j - 1]
            j -= 1
        s.order[j] = k


@native
def material_point(pose: Reals, x: Reals, out: Reals) -> None:
    """out <- a point in space in the frame of a body."""
    for j in range(3):
        out[j] = 0.0
        for i in range(3):
            out[j] += pose[3 * i + j] * (x[i] - pose[9 + i])


@native
def space_point(pose: Reals, local: Reals, out: Reals) -> None:
    """out <- a point of a body in space."""
    for i in range(3):
        out[i] = pose[9 + i]
        for j in range(3):
            out[i] += pose[3 * i + j] * local[j]


@rare
def body_rows(
    c: ContactFields, s: ShapeFields, k: int, b: int, place: int, sign: float, point: Reals
) -> int:
    """Add the rows of body b to contact k, from entry `place` on; returns where they end.

    The directions n, t1, t2 of the contact are in `local` from 9 on.
    """
    first, count = s.body_dof_first[b], s.body_dof_first[b + 1] - s.body_dof_first[b]
    values, width = s.pose_values + s.body_first[b], c.width
    jacobian, ways = values + 18, c.local + 9
    arm0, arm1, arm2 = point[0] - values[9], point[1] - values[10], point[2] - values[11]
    for r in range(3):
        d = ways + 3 * r
        m0, m1 = arm1 * d[2] - arm2 * d[1], arm2 * d[0] - arm0 * d[2]
        m2 = arm0 * d[1] - arm1 * d[0]
        row = c.jacobian_rows + (3 * k + r) * width + place
        offset = d[0] * values[12] + d[1] * values[13] + d[2] * values[14]
        offset += m0 * values[15] + m1 * values[16] + m2 * values[17]
        c.offsets[3 * k + r] += sign * offset
        for j in range(count):
            entry = d[0] * jacobian[j] + d[1] * jacobian[count + j] + d[2] * jacobian[2 * count + j]
            entry += m0 * jacobian[3 * count + j] + m1 * jacobian[4 * count + j]
            entry += m2 * jacobian[5 * count + j]
            row[j] = sign * entry
    dofs = c.dofs + k * width + place
    for j in range(count):
        dofs[j] = s.body_dofs[first + j]
    return place + count


@native
def set_directions(n: Reals, ways: Reals) -> None:
    """ways <- n and two tangents that make a right-handed frame with it."""
    for i in range(3):
        ways[i] = n[i]
    a, b = ways + 3, ways + 6
    if abs(n[0]) < 0.7:
        a[0], a[1], a[2] = 0.0, n[2], -n[1]
    else:
        a[0], a[1], a[2] = -n[2], 0.0, n[0]
    length = sqrt(a[0] ** 2 + a[1] ** 2 + a[2] ** 2)
    for i in range(3):
        a[i] /= length
    b[0] = n[1] * a[2] - n[2] * a[1]
    b[1] = n[2] * a[0] - n[0] * a[2]
    b[2] = n[0] * a[1] - n[1] * a[0]


@rare
def merge_dofs(c: ContactFields, k: int, first: int, count: int) -> int:
    """Join entries of coordinates that both bodies have; returns how many are left."""
    dofs, width = c.dofs + k * c.width, c.width
    kept = first
    for j in range(first, count):
        twin = -1
        for i in range(first):
            if dofs[i] == dofs[j]:
                twin = i
        target = kept if twin < 0 else twin
        for r in range(3):
            row = c.jacobian_rows + (3 * k + r) * width
            row[target] = row[j] if twin < 0 else row[target] + row[j]
        if twin < 0:
            dofs[kept] = dofs[j]
            kept += 1
    return kept


@rare
def add_contact(context: FixedFields, a: int, b: int, number: int) -> bool:
    """A contact of solids a and b as one of the step; False where there is no room."""
    c, s = context.contact, context.shapes
    k, found, marks = c.n_active, s.found + RECORD * number, s.marks + 2 * number
    if k >= c.capacity:
        return False
    first, second = s.solid_body[a], s.solid_body[b]
    scene = s.coefficients + 4 * s.solid_scene[a]
    poses = s.pose_values
    one, two = poses + s.body_first[first], poses + s.body_first[second]
    s.bodies[2 * k], s.bodies[2 * k + 1], s.measures[k] = first, second, marks[0]
    s.scenes[k] = s.solid_scene[a]
    material_point(one, found, s.first_point + 3 * k)
    material_point(two, found + 3, s.second_point + 3 * k)
    holder, n, normal = two + 0, found + 6, s.normal + 3 * k
    if s.measures[k] == FACE_OF_FIRST:
        holder = one + 0
    for j in range(3):
        normal[j] = holder[j] * n[0] + holder[3 + j] * n[1] + holder[6 + j] * n[2]
    s.radius[2 * k], s.radius[2 * k + 1] = found[9], found[10]
    key = (a * s.n_solids + b) * FEATURES + marks[1]
    c.key[k], c.loads[k] = c.n_stated + key, CONTACT
    c.n_contact_rows[k] = 3 if scene[3] > 0.0 else 1
    ways, point = c.local + 9, c.local + 18
    set_directions(n, ways)
    for i in range(3):
        point[i] = found[i] - found[9] * n[i]
    for r in range(3):
        c.offsets[3 * k + r] = 0.0
    middle = body_rows(c, s, k, first, 0, 1.0, point)
    last = body_rows(c, s, k, second, middle, -1.0, point)
    c.dof_count[k] = merge_dofs(c, k, middle, last)
    c.gaps[k] = shape_gap(context, k)
    s.deepest = max(s.deepest, -c.gaps[k])
    c.n_active += 1
    return True


@rare
def shape_gap(context: FixedFields, k: int) -> float:
    """The gap of a contact between solids at the poses that are set."""
    c, s = context.contact, context.shapes
    one = s.pose_values + s.body_first[s.bodies[2 * k]]
    two = s.pose_values + s.body_first[s.bodies[2 * k + 1]]
    x1, x2 = c.local + 21, c.local + 24
    space_point(one, s.first_point + 3 * k, x1)
    space_point(two, s.second_point + 3 * k, x2)
    total = -s.radius[2 * k] - s.radius[2 * k + 1]
    d0, d1, d2 = x1[0] - x2[0], x1[1] - x2[1], x1[2] - x2[2]
    if s.measures[k] == BALLS:
        return total + sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    holder, n = two + 0, s.normal + 3 * k
    if s.measures[k] == FACE_OF_FIRST:
        holder = one + 0
    for i in range(3):
        d = d0 if i == 0 else (d1 if i == 1 else d2)
        total += d * (holder[3 * i] * n[0] + holder[3 * i + 1] * n[1] + holder[3 * i + 2] * n[2])
    return total


@rare
def try_pair(context: FixedFields, a: int, b: int) -> bool:
    """Add the contacts of two solids, if they may touch; False where there is no room."""
    s = context.shapes
    first, second = s.solid_body[a], s.solid_body[b]
    if first == second or s.solid_scene[a] != s.solid_scene[b]:
        return True
    if s.are_apart[first * s.n_bodies + second] != 0:
        return True
    if s.kinds[a] > s.kinds[b]:
        a, b = b, a
    margin = s.speeds[a] + s.speeds[b]
    if s.kinds[b] != PLANE:
        f1, f2, far = s.frames + 12 * a + 9, s.frames + 12 * b + 9, margin + s.radii[a] + s.radii[b]
        squares = (f1[0] - f2[0]) ** 2 + (f1[1] - f2[1]) ** 2 + (f1[2] - f2[2]) ** 2
        if squares > far * far:
            return True
    count = meet_solids(context, a, b, margin)
    for k in range(count):
        if not add_contact(context, a, b, k):
            return False
    return count >= 0 and s.overflowed == 0


@rare
def gather_shapes(context: FixedFields, h: float, before: Reals, free: Reals) -> bool:
    """Find the contacts between solids; False where there are more than there is room for."""
    s = context.shapes
    sort_extents(s, h, before, free)
    s.deepest = 0.0
    for i in range(s.n_order):
        a = s.order[i]
        high = s.extents[2 * a + 1]
        for j in range(i + 1, s.n_order):
            b = s.order[j]
            if s.extents[2 * b] > high:
                break
            if not try_pair(context, a, b):
                return False
        for b in range(s.n_solids):
            if s.kinds[b] == PLANE and not try_pair(context, a, b):
                return False
    return True


@native
def remembered_slot(s: ShapeFields, key: int) -> int:
    """The place of a key in the table of impulses: its own, or the empty one where it would be."""
    place = key * HASH % s.table_size
    while s.table_keys[place] != -1 and s.table_keys[place] != key:
        place = place + 1 if place + 1 < s.table_size else 0
    return place
