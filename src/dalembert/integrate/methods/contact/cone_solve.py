r"""Coulomb's law of all contacts of a step, by block Gauss-Seidel with an exact local solve.

With the impulses P of one contact and those of the others fixed, its relative velocity is
u = b + W P, (3,). The law asks for (Jean and Moreau 1992; in impulses)

    0 <= P_n  _|_  u_n >= 0,      |P_t| <= mu P_n,      u_t = -s P_t,  s >= 0,  s = 0 inside.

If b_n >= 0 the contact opens. Else it sticks where W P = -b lies in the cone, and slips otherwise:
u_n = 0 gives P_n, (W_t + s) P_t = -b_t' with the Schur complement W_t of W, and the scalar s >= 0
solves |P_t(s)| = mu P_n(s), which changes its sign between s = 0 and infinity. The velocities of
the whole system are kept up to date by v += P J^T dP, so that a sweep costs what the rows have
entries. A friction limit has a load in the place of P_n: an impulse that is given, or that of
another contact. Its normal row is zero, and its W_nn as good as that: what is left is P_n = load.
Between sweeps the last impulses are combined (`mix_impulses`). Where a heap has more
contacts than its motion needs, sweeps converge slower than any power of a rate: the result is the
best of the iterates that were met.
"""

from __future__ import annotations

from math import sqrt

from ....codegen.native.language import Reals, native, rare
from ....runtime.gauss.factorisations import cholesky, solve_lower, solve_upper
from ...contact_fields import ContactFields

__all__ = ["CONTACT", "GIVEN", "LOADED", "MIXED", "MOST_SWEEPS", "SOLVED_LATE"]
__all__ += ["coulomb_sweeps", "gap_sweeps"]

#: Sweeps that change no relative velocity by more than this part of the largest one are the last;
#: after some sweeps a larger part is enough.
SOLVED, MANY_SWEEPS, SOLVED_LATE = 1e-10, 60, 1e-6
#: How exactly a slip lies on its cone.
SLIPS = 1e-13
#: The most sweeps over all contacts in a step.
MOST_SWEEPS = 300
#: So many pairs of sweeps are combined (`mix_impulses`), until one changes the impulses by so much
#: more, squared, than the best did; what is added to the diagonal of the least squares.
MIXED, WORSE, REGULAR = 10, 1.5, 1e-12
#: The most trials of a slip.
MOST_TRIALS = 100
#: `loads` of a contact, and of a friction limit with a given load; W_nn of a limit.
CONTACT, GIVEN, LOADED = -1, -2, 1e-30


@native
def tangent_impulse(w: Reals, b: Reals, s: float, p: Reals) -> float:
    """p_t, p_n <- for a slip with u_t = -s P_t and u_n = 0; returns |P_t|."""
    inverse = 1.0 / w[0]
    b1, b2 = b[1] - w[3] * b[0] * inverse, b[2] - w[6] * b[0] * inverse
    a11 = w[4] - w[3] * w[1] * inverse + s
    a12, a21 = w[5] - w[3] * w[2] * inverse, w[7] - w[6] * w[1] * inverse
    a22 = w[8] - w[6] * w[2] * inverse + s
    determinant = a11 * a22 - a12 * a21
    if not determinant > 1e-14 * a11 * a22:
        # Nothing but rounding is left of one direction, in which friction has no effect.
        trace = a11 + a22
        p[1] = -b1 / trace if trace > 0.0 else 0.0
        p[2] = -b2 / trace if trace > 0.0 else 0.0
    else:
        p[1] = (a12 * b2 - a22 * b1) / determinant
        p[2] = (a21 * b1 - a11 * b2) / determinant
    p[0] = -(b[0] + w[1] * p[1] + w[2] * p[2]) * inverse
    return sqrt(p[1] ** 2 + p[2] ** 2)


@native
def solve_in_space(w: Reals, b: Reals, kinetic: float, static: float, p: Reals) -> None:
    """p (3) <- the impulse of a contact with two tangent directions that does not open."""
    size = tangent_impulse(w, b, 0.0, p)
    if size <= static * p[0]:
        return
    if kinetic <= 0.0:
        p[0], p[1], p[2] = -b[0] / w[0], 0.0, 0.0
        return
    # The ratio mu P_n / |P_t| rises from below one at s = 0, nearly on a line: secants, kept
    # between the largest s with less and the least with more than one.
    low, at_low = 0.0, kinetic * p[0] / size - 1.0
    high, at_high = -1.0, 0.0
    trace = w[4] + w[8] - (w[3] * w[1] + w[6] * w[2]) / w[0]
    s = 0.5 * trace * (1.0 / (1.0 + at_low) - 1.0) if at_low > -0.999 else 1e3 * trace
    for _ in range(MOST_TRIALS):
        size = tangent_impulse(w, b, s, p)
        here = kinetic * p[0] / size - 1.0
        if abs(here) <= SLIPS:
            return
        if here < 0.0:
            low, at_low = s, here
            at_high *= 0.5
        else:
            high, at_high = s, here
            at_low *= 0.5
        if high < 0.0:
            s = 4.0 * s + trace
        else:
            s = low + (high - low) * at_low / (at_low - at_high)
            if not (s > low and s < high):
                s = 0.5 * (low + high)
            if not high - low > 1e-14 * high:
                return


@native
def solve_in_plane(w: Reals, b: Reals, kinetic: float, static: float, p: Reals) -> None:
    """p (2) <- the impulse of a contact with one tangent direction that does not open."""
    determinant = w[0] * w[4] - w[1] * w[3]
    if determinant > 1e-14 * w[0] * w[4]:
        p[0] = (w[1] * b[1] - w[4] * b[0]) / determinant
        p[1] = (w[3] * b[0] - w[0] * b[1]) / determinant
    else:
        p[0], p[1] = -b[0] / w[0], 0.0
    if abs(p[1]) <= static * p[0]:
        return
    # u_n = 0 with the friction on either side of the cone; the one that opposes its slip.
    for way in range(2):
        sign = 1.0 if (way == 0) == (p[1] > 0.0) else -1.0
        response = w[0] + sign * kinetic * w[1]
        if response > 0.0:
            push = -b[0] / response
            slip = b[1] + (w[3] + sign * kinetic * w[4]) * push
            if slip * sign <= 0.0 or way == 1:
                p[0], p[1] = push, sign * kinetic * push
                return
    p[0], p[1] = -b[0] / w[0], 0.0


@native
def sweep_contact(c: ContactFields, k: int, v: Reals) -> float:
    """Solve one contact and add what it changes to the velocities v; returns the change of u."""
    rows, width = c.n_contact_rows[k], c.width
    jacobian, response = c.jacobian_rows + 3 * k * width, c.responses + 3 * k * width
    dofs, count = c.dofs + k * width, c.dof_count[k]
    w, p, offset = c.delassus + 9 * k, c.impulses + 3 * k, c.offsets + 3 * k
    u, b, found = c.local, c.local + 3, c.local + 6
    for r in range(rows):
        total = offset[r]
        row = jacobian + r * width
        for j in range(count):
            total += row[j] * v[dofs[j]]
        u[r] = total
    for r in range(rows):
        b[r] = u[r]
        for s in range(rows):
            b[r] -= w[3 * r + s] * p[s]
    b[0] -= c.speed_bound[k]
    if c.loads[k] != CONTACT:
        b[0] = -c.speed_bound[k] if c.loads[k] == GIVEN else -c.impulses[3 * c.loads[k]]
        b[0] *= w[0]
    found[0], found[1], found[2] = 0.0, 0.0, 0.0
    if b[0] < 0.0 and w[0] > 0.0:
        kinetic, static = c.friction[3 * k], c.friction[3 * k + 1]
        if rows == 3:
            solve_in_space(w, b, kinetic, static, found)
        elif rows == 2:
            solve_in_plane(w, b, kinetic, static, found)
        else:
            found[0] = -b[0] / w[0]
    changed = 0.0
    for r in range(rows):
        step = found[r] - p[r]
        if step != 0.0:
            p[r] = found[r]
            row = response + r * width
            for j in range(count):
                v[dofs[j]] += row[j] * step
            changed = max(changed, abs(step) * w[4 * r])
    return changed


@native
def sweep_twice(c: ContactFields, v: Reals) -> float:
    """Solve all contacts one by one, forwards and backwards; returns the largest change of u."""
    changed = 0.0
    for k in range(c.n_active):
        changed = max(changed, sweep_contact(c, k, v))
    for k in range(c.n_active - 2, -1, -1):
        changed = max(changed, sweep_contact(c, k, v))
    c.n_sweeps += 2
    return changed


@native
def mixed_product(c: ContactFields, one: Reals, other: Reals) -> float:
    """The product of two changes of impulses, in the metric of the diagonal of W."""
    total = 0.0
    for k in range(c.n_active):
        for r in range(c.n_contact_rows[k]):
            total += one[3 * k + r] * other[3 * k + r] * c.delassus[9 * k + 4 * r]
    return total


@rare
def mix_impulses(c: ContactFields, v: Reals, n: int, kept: int) -> int:
    """Combine the last sweeps to what leaves the least change; returns how many are kept.

    With the impulses G(P) after sweeps from P and the change F = G(P) - P, the next ones are
    G - sum g_i dG_i with the g that make |F - sum g_i dF_i| least (D. G. Anderson, J. ACM 12,
    1965); velocities are affine in impulses and go along. `history` has dF, dG and dv of each of
    the last MIXED sweeps, and F, G, v of the last one behind.
    """
    size = 3 * c.n_active
    step = 2 * size + n
    last, products, factors = c.history + MIXED * step, c.mix_products, c.mix_factor
    change = c.directions
    for i in range(size):
        change[i] = c.impulses[i] - c.impulses_before[i]
    here = mixed_product(c, change, change)
    if kept > 0 and here > WORSE * c.mix_best:
        kept = 0  # what was learned belongs to another set of contacts that stick
    if kept == 0:
        c.mix_best = here
    c.mix_best = min(c.mix_best, here)
    if kept > 0:
        slot = (kept - 1) % MIXED
        new = c.history + slot * step
        for i in range(size):
            new[i] = change[i] - last[i]
            new[size + i] = c.impulses[i] - last[size + i]
        for i in range(n):
            new[2 * size + i] = v[i] - last[2 * size + i]
        for j in range(min(kept, MIXED)):
            product = mixed_product(c, new, c.history + j * step)
            products[slot * MIXED + j], products[j * MIXED + slot] = product, product
    for i in range(size):
        last[i], last[size + i] = change[i], c.impulses[i]
    for i in range(n):
        last[2 * size + i] = v[i]
    count = min(kept, MIXED)
    weights = c.mix_weights
    for i in range(count):
        weights[i] = mixed_product(c, c.history + i * step, change)
        for j in range(count):
            factors[MIXED * MIXED + i * count + j] = products[i * MIXED + j]
        factors[MIXED * MIXED + i * count + i] *= 1.0 + REGULAR
    if count > 0 and cholesky(count, factors + MIXED * MIXED, factors, 0.0) > 0.0:
        solve_lower(count, factors, weights)
        solve_upper(count, factors, weights)
        for j in range(count):
            past, weight = c.history + j * step, weights[j]
            for i in range(size):
                c.impulses[i] -= weight * past[size + i]
            for i in range(n):
                v[i] -= weight * past[2 * size + i]
    return kept + 1


@rare
def copy_iterate(c: ContactFields, v: Reals, n: int, restores: bool) -> None:
    """Store the impulses and the velocities v (n) as the best ones, or restore those."""
    size = 3 * c.n_active
    impulses, velocities = c.best, c.best + size
    for i in range(size):
        if restores:
            c.impulses[i] = impulses[i]
        else:
            impulses[i] = c.impulses[i]
    for i in range(n):
        if restores:
            v[i] = velocities[i]
        else:
            velocities[i] = v[i]


@native
def coulomb_sweeps(c: ContactFields, v: Reals, n: int, scale: float) -> float:
    """Sweep until velocities v (n) and impulses obey Coulomb's law, or take the best that was met.

    Returns the largest change of a relative velocity in the sweeps that led to the result,
    relative to `scale`.
    """
    changed, least, kept = 0.0, -1.0, 0
    for number in range(MOST_SWEEPS // 2):
        for i in range(3 * c.n_active):
            c.impulses_before[i] = c.impulses[i]
        changed = sweep_twice(c, v)
        if changed <= SOLVED * scale or (
            2 * number >= MANY_SWEEPS and changed <= SOLVED_LATE * scale
        ):
            return changed / scale if scale > 0.0 else 0.0
        if least < 0.0 or changed < least:
            least = changed
            copy_iterate(c, v, n, False)
        kept = mix_impulses(c, v, n, kept)
    copy_iterate(c, v, n, True)
    return least / scale if scale > 0.0 else 0.0


@rare
def gap_sweeps(c: ContactFields, shift: Reals, enough: float) -> float:
    """Sweep until the shift (n) of the positions closes no gap by more than `enough`.

    Pushes are along the responses to normal impulses, >= 0, and complementary to the gaps.
    """
    changed = 0.0
    for number in range(MOST_SWEEPS):
        changed = 0.0
        for i in range(c.n_active):
            k = i if number % 2 == 0 else c.n_active - 1 - i
            width, dofs, count = c.width, c.dofs + k * c.width, c.dof_count[k]
            row, response = c.jacobian_rows + 3 * k * width, c.responses + 3 * k * width
            if not c.delassus[9 * k] > 0.0:
                continue
            gap = c.gaps[k]
            for j in range(count):
                gap += row[j] * shift[dofs[j]]
            push = max(c.pushes[k] - gap / c.delassus[9 * k], 0.0)
            step = push - c.pushes[k]
            if step != 0.0:
                c.pushes[k] = push
                for j in range(count):
                    shift[dofs[j]] += response[j] * step
                changed = max(changed, abs(step) * c.delassus[9 * k])
        c.n_sweeps += 1
        if changed <= enough:
            break
    return changed
