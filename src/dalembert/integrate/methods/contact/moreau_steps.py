r"""Moreau's sweeping process in time steps: impacts, contact and friction without events.

One step of size h from (q0, v0), with everything but the velocities at the middle q_m = q0 + h/2 v0
(J. J. Moreau, "Numerical aspects of the sweeping process", 1999; M. Jean, "The non-smooth contact
dynamics method", 1999; theta = 1/2):

    M (v1 - v0) = h f + G^T mu + J^T P,       G (v0 + v1) / 2 + g_t = 0,       q1 = q_m + h/2 v1,

with the relative velocities u = J v + offset of the contacts, for which the impulses P obey
Coulomb's law and Moreau's law of impact. The normal velocity is bounded from below by

    u_n >= max(e |u_n0|, -2 gap_m / h)        where the gap would close while u_n0 < 0,
    u_n >= -2 max(gap_m, 0) / h               elsewhere:

a contact that does not close in the step has no impulse, and one that closes without restitution
lands on its surface. At the end the positions are moved, along the same responses M^-1 J^T and
M^-1 G^T, until no gap is negative and no constraint of positions is violated, and the velocities
onto the constraints. Without contacts this is a step of order 2.
"""

from __future__ import annotations

from ....codegen.native.language import Reals, native, rare
from ....runtime.projection import fill_inputs, is_finite, run_program
from ...contact_fields import ContactFields
from ...run_fields import FixedFields
from ..fixed.fixed_fields import UNSOLVABLE
from .component_solve import constrained_change, factor_components, solve_component
from .cone_solve import CONTACT, LOADED, SOLVED_LATE, coulomb_sweeps, gap_sweeps
from .shape_steps import gather_shapes, remembered_slot, shape_gap, update_poses

__all__ = ["moreau_step"]

#: A residual of the contacts above this part of the largest velocity ends the run.
LOST = 1e-1
#: A gap is left that is negative by less than this part of the way that contacts go in a step.
PENETRATION = 1e-4
#: What is below this part of the largest coordinate is rounding.
ROUNDING = 1e-13
#: The most corrections of the positions; how far off they may be after the last, as a part.
MOST_CORRECTIONS, HELD = 12, 1e-9
#: A contact hits where it approaches faster than so many times what forces change in the step.
HITS = 4.0


@native
def largest_entry(n: int, values: Reals) -> float:
    """The largest absolute value."""
    found = 0.0
    for i in range(n):
        found = max(found, abs(values[i]))
    return found


@native
def row_times(count: int, row: Reals, place: int, c: ContactFields, v: Reals) -> float:
    """A row of contact `place` times the velocities."""
    total = 0.0
    dofs = c.dofs + place * c.width
    for j in range(count):
        total += row[j] * v[dofs[j]]
    return total


@rare
def respond(c: ContactFields, k: int) -> None:
    """The responses P J^T of contact k, and W = J P J^T, (3 x 3)."""
    rows, width, count = c.n_contact_rows[k], c.width, c.dof_count[k]
    jacobian, response = c.jacobian_rows + 3 * k * width, c.responses + 3 * k * width
    dofs, w = c.dofs + k * width, c.delassus + 9 * k
    for r in range(rows):
        row, found = jacobian + r * width, response + r * width
        for j in range(count):
            found[j] = row[j]
        j = 0
        while j < count:
            component = c.component_of[dofs[j]]
            solve_component(c, component, found + j, False)
            j += c.member_first[component + 1] - c.member_first[component]
    for r in range(rows):
        for s in range(rows):
            total = 0.0
            for j in range(count):
                total += jacobian[r * width + j] * response[s * width + j]
            w[3 * r + s] = total
    if c.loads[k] != CONTACT:
        w[0] = LOADED


@rare
def bound_speed(
    c: ContactFields, k: int, h: float, values: Reals, before: Reals, free: Reals
) -> float:
    """Set the bound and the friction of contact k from its coefficients; returns its speed.

    `values` are restitution, tangential restitution, friction and static friction.
    """
    rows, width = c.n_contact_rows[k], c.width
    jacobian, offset, count = c.jacobian_rows + 3 * k * width, c.offsets + 3 * k, c.dof_count[k]
    first = offset[0] + row_times(count, jacobian, k, c, before)
    last = offset[0] + row_times(count, jacobian, k, c, free)
    gap = c.gaps[k]
    bound = -2.0 * max(gap, 0.0) / h
    if gap + 0.5 * h * last < 0.0 and first < 0.0:
        bound = max(bound, -values[0] * first)
    c.speed_bound[k] = bound
    c.friction[3 * k], c.friction[3 * k + 1] = values[2], values[3]
    speed = max(abs(last - bound), abs(first))
    hits = -first > HITS * abs(last - first)
    for r in range(1, rows):
        row = jacobian + r * width
        start = offset[r] + row_times(count, row, k, c, before)
        speed = max(speed, abs(offset[r] + row_times(count, row, k, c, free)))
        if hits:
            offset[r] += values[1] * start
    if hits and values[0] > 0.0:
        c.key[c.capacity] += 1
    return speed


@native
def bound_limit(c: ContactFields, k: int, h: float, values: Reals, before: Reals) -> float:
    """Set the load and the friction of limit k from its coefficients; returns its slip."""
    jacobian, count, speed = c.jacobian_rows + 3 * k * c.width, c.dof_count[k], 0.0
    c.speed_bound[k] = h * values[0]
    c.friction[3 * k], c.friction[3 * k + 1] = values[2], values[3]
    for r in range(1, c.n_contact_rows[k]):
        slip = c.offsets[3 * k + r] + row_times(count, jacobian + r * c.width, k, c, before)
        speed = max(speed, abs(slip))
    return speed


@rare
def gather_stated(context: FixedFields, h: float, before: Reals, free: Reals) -> float:
    """Take the stated contacts that may close in this step; returns their largest speed."""
    c = context.contact
    if c.n_stated > 0:
        run_program(context, c.stated_program, c.middle, c.stated_values)
    reach = 0.0
    for i in range(c.n_stated):
        values, rows = c.stated_values + c.stated_first[i], c.stated_rows[i]
        first, count = c.stated_dof_first[i], c.stated_dof_first[i + 1] - c.stated_dof_first[i]
        now, then = values[1], values[1]
        for j in range(count):
            entry, dof = values[5 + rows + j], c.stated_dofs[first + j]
            now += entry * before[dof]
            then += entry * free[dof]
        reach = max(reach, max(abs(now), abs(then)))
    speed = 0.0
    for number in range(2 * c.n_stated):  # contacts, and then friction limits
        i = number % c.n_stated
        if (number < c.n_stated) != (c.stated_loads[i] == CONTACT):
            continue
        values, rows = c.stated_values + c.stated_first[i], c.stated_rows[i]
        first, count = c.stated_dof_first[i], c.stated_dof_first[i + 1] - c.stated_dof_first[i]
        k, width, load = c.n_active, c.width, c.stated_loads[i]
        c.active_of[i] = -1
        if load >= 0:
            load = c.active_of[load]
            if load < 0:
                continue
        elif load == CONTACT and not values[0] <= 2.0 * h * reach:
            continue
        c.active_of[i], c.loads[k] = k, load
        c.key[k], c.n_contact_rows[k], c.dof_count[k], c.gaps[k] = i, rows, count, values[0]
        dofs, jacobian = c.dofs + k * width, c.jacobian_rows + 3 * k * width
        for j in range(count):
            dofs[j] = c.stated_dofs[first + j]
        for r in range(rows):
            c.offsets[3 * k + r] = values[1 + r]
            for j in range(count):
                jacobian[r * width + j] = values[5 + rows + r * count + j]
        c.n_active += 1
        respond(c, k)
        if load == CONTACT:
            speed = max(speed, bound_speed(c, k, h, values + 1 + rows, before, free))
        else:
            speed = max(speed, bound_limit(c, k, h, values + 1 + rows, before))
            speed = max(speed, bound_limit(c, k, h, values + 1 + rows, free))
    return speed


@rare
def warm_start(context: FixedFields, v: Reals) -> None:
    """Begin with the impulses of the step before."""
    c, s, width = context.contact, context.shapes, context.contact.width
    for k in range(c.n_active):
        for r in range(c.n_contact_rows[k]):
            push = 0.0
            if context.counts.remembered > 0:
                if c.key[k] < c.n_stated:
                    push = c.remembered_impulses[3 * c.key[k] + r]
                else:
                    slot = remembered_slot(s, c.key[k])
                    push = s.table_impulses[3 * slot + r] if s.table_keys[slot] >= 0 else 0.0
            c.impulses[3 * k + r] = push
            if push != 0.0:
                response, dofs = c.responses + (3 * k + r) * width, c.dofs + k * width
                for j in range(c.dof_count[k]):
                    v[dofs[j]] += response[j] * push


@rare
def remember_impulses(context: FixedFields) -> None:
    """Keep the impulses for the next step."""
    c, s = context.contact, context.shapes
    for i in range(3 * c.n_stated):
        c.remembered_impulses[i] = 0.0
    for i in range(s.table_size):
        s.table_keys[i] = -1
    for k in range(c.n_active):
        kept = c.remembered_impulses + 3 * c.key[k]
        if c.key[k] >= c.n_stated:
            slot = remembered_slot(s, c.key[k])
            s.table_keys[slot] = c.key[k]
            kept = s.table_impulses + 3 * slot
        for r in range(c.n_contact_rows[k]):
            kept[r] = c.impulses[3 * k + r]
    context.counts.remembered = 1


@rare
def evaluate_gaps(context: FixedFields, state: Reals) -> float:
    """The gaps of the contacts of the step at another state; returns the deepest penetration."""
    c, deepest = context.contact, 0.0
    if c.n_stated > 0:
        run_program(context, c.stated_program, state, c.stated_values)
    if context.shapes.n_solids > 0:
        update_poses(context, state)
    for k in range(c.n_active):
        if c.key[k] < c.n_stated:
            c.gaps[k] = c.stated_values[c.stated_first[c.key[k]]]
        else:
            c.gaps[k] = shape_gap(context, k)
        deepest = max(deepest, -c.gaps[k])
        c.pushes[k] = 0.0
    return deepest


@rare
def correct_positions(context: FixedFields, n: int, enough: float) -> int:
    """Move the end of the step onto the constraints of positions and out of all contacts."""
    c, end, shift, change = context.contact, context.contact.end, context.contact.shift, 0.0
    size = ROUNDING * largest_entry(n, end)
    least = max(enough, size)
    for i in range(c.n_rows):
        c.right[i] = 0.0
    for _ in range(MOST_CORRECTIONS):
        deepest = evaluate_gaps(context, end)
        for i in range(n):
            shift[i] = 0.0
        change = 0.0
        if c.n_positions > 0:
            run_program(context, c.position_program, end, c.position_residual)
            for i in range(c.n_positions):
                c.right[c.position_rows[i]] = -c.position_residual[i]
            constrained_change(context, 0.0, c.force, shift)
            change = largest_entry(n, shift)
        if deepest <= least and change <= size:
            return 0
        if deepest > least or c.n_positions > 0:
            gap_sweeps(c, shift, 0.1 * least)
        for i in range(n):
            end[i] += shift[i]
    if change > HELD * max(largest_entry(n, end), 1e-300):
        return UNSOLVABLE
    return 0


@rare
def free_velocities(context: FixedFields, n: int, h: float) -> int:
    """change <- v1 - v0 without contacts, with forces at the middle; 0 or a status."""
    c, y, middle = context.contact, context.y, context.contact.middle
    for i in range(n):
        middle[i] = y[i] + 0.5 * h * y[n + i]
        middle[n + i] = y[n + i]
    if context.inputs != 0:
        fill_inputs(context, middle)
    status = factor_components(context, middle)
    if status != 0:
        return status
    for stage in range(2):
        run_program(context, c.force_program, middle, c.force)
        if stage == 0:
            for i in range(c.n_rows):
                c.right[i] = -2.0 * c.force[n + i]
        constrained_change(context, h, c.force, c.change)
        for i in range(n):
            middle[n + i] = y[n + i] + 0.5 * c.change[i]
    context.counts.evaluations += 2
    return 0


@native
def solve_contacts_of_step(context: FixedFields, n: int, h: float) -> float:
    """end velocities <- those with contacts; returns the speed of contacts, or -1 where lost."""
    c, before, free = context.contact, context.y + n, context.contact.end + n
    c.n_active = 0
    c.key[c.capacity] = 0
    speed = gather_stated(context, h, before, free)
    if context.shapes.n_solids > 0:
        update_poses(context, c.middle)
        stated = c.n_active
        if not gather_shapes(context, h, before, free):
            context.shapes.overflowed = 1
            return -1.0
        for k in range(stated, c.n_active):
            respond(c, k)
            values = context.shapes.coefficients + 4 * context.shapes.scenes[k]
            speed = max(speed, bound_speed(c, k, h, values, before, free))
    if c.key[c.capacity] > 1:
        c.n_simultaneous += 1
    warm_start(context, free)
    residual = coulomb_sweeps(c, free, n, speed)
    c.worst = max(c.worst, residual)
    if not residual <= SOLVED_LATE:
        c.n_unconverged += 1
        if not residual <= LOST:
            return -1.0
    remember_impulses(context)
    return speed


@rare
def velocities_onto_constraints(context: FixedFields, n: int) -> int:
    """Move the velocities at the end onto the constraints."""
    c, end = context.contact, context.contact.end
    status = factor_components(context, end)
    if status != 0:
        return status
    run_program(context, c.force_program, end, c.force)
    for i in range(c.n_rows):
        c.right[i] = -c.force[n + i]
    constrained_change(context, 0.0, c.force, c.change)
    for i in range(n):
        end[n + i] += c.change[i]
    return 0


@native
def moreau_step(context: FixedFields, t: float, h: float) -> int:
    """delta <- what a step from (t, y) adds to the state (q, v)."""
    c, n = context.contact, context.n_state // 2
    y, delta, end, clock = context.y, context.delta, c.end, context.time
    clock[0] = t + 0.5 * h
    status = free_velocities(context, n, h)
    if status != 0:
        return status
    for i in range(n):
        end[n + i] = y[n + i] + c.change[i]
    speed = solve_contacts_of_step(context, n, h)
    if speed < 0.0 or not is_finite(n, end + n):
        return UNSOLVABLE
    for i in range(n):
        end[i] = c.middle[i] + 0.5 * h * end[n + i]
    clock[0] = t + h
    status = correct_positions(context, n, PENETRATION * h * speed)
    if status == 0 and c.n_rows > 0:
        status = velocities_onto_constraints(context, n)
    if status != 0:
        return status
    for i in range(2 * n):
        delta[i] = end[i] - y[i]
    return 0
