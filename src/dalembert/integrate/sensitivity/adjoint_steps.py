r"""The gradient of a motion backwards along the very steps it took, as native code.

The reverse of a step of DOP853, with lambda the gradient by its end and s the weight of the
integral of L,

    Kbar_s = h (b_s lambda + sum_j>s a_js Ybar_j),      (Ybar_s, x-gradient +=) = (f_y, f_x)^T
    Kbar_s + h b_s s (L_y, L_x)^T lambda <- lambda + sum_s Ybar_s

is the exact gradient of the numbers that the steps computed (W. W. Hager: Runge-Kutta methods in
optimal control and the transformed adjoint system, Numer. Math. 87 (2000), section 3). Stages are
computed again from the beginning of each step, so that only the steps of a motion are stored; a
probe goes along, as in `tangent_steps`, to tell whether they are short enough. The projections that
end the steps are reversed with them.
"""

from __future__ import annotations

from ...codegen.native.language import Reals, native
from ...codegen.passes.solve_limits import HEALTHY
from ...runtime.gauss.solve_status import REGULAR, SINGULAR
from ...runtime.projection import is_finite
from ..methods.adaptive.dop853_coefficients import A, C
from ..run_fields import TangentFields
from .tangent_steps import probe_error, push, set_probe, short_state, tangent_step

__all__ = ["follow_adjoint"]


@native
def pull_projection(
    context: TangentFields, address: int, time: float, y: Reals, gradient: Reals
) -> int:
    """gradient (n_state + nx) <- that before a projection to one level, from that after it."""
    size = context.n_directions
    out = context.pulled
    push(context, address, time, y, gradient, out)
    if not out[size] > HEALTHY or not is_finite(size, out):
        return SINGULAR
    for i in range(size):
        gradient[i] += out[i]
    return REGULAR


@native
def adjoint_step(
    context: TangentFields,
    t: float,
    h: float,
    y: Reals,
    y_end: Reals,
    gradient: Reals,
    integral: Reals,
) -> int:
    """Pull the gradient back over a step; integral[0] is its weight, [1] grows by its value."""
    ns, size = context.n_state, context.n_directions
    inner, pulls = context.stage_states, context.stage_pulls
    seed, out = context.seed, context.pulled
    status = REGULAR
    if context.is_projected != 0 and context.n_velocities > 0:
        status = pull_projection(context, context.velocity_adjoint, t + h, y_end, gradient)
    if status == REGULAR and context.is_projected != 0 and context.n_positions > 0:
        status = pull_projection(context, context.position_adjoint, t + h, y_end, gradient)
    if status != REGULAR:
        return status
    for s in range(11, -1, -1):
        for i in range(ns):
            seed[i] = A[12, s] * gradient[i]
        for j in range(s + 1, 12):
            weight = A[j, s]
            if weight != 0.0:
                row = pulls + j * ns
                for i in range(ns):
                    seed[i] += weight * row[i]
        for i in range(ns):
            seed[i] *= h
        share = h * A[12, s]
        seed[ns] = share * integral[0]
        push(context, context.adjoint, t + C[s] * h, inner + s * ns, seed, out)
        if not out[size] > HEALTHY or not is_finite(size, out):
            return SINGULAR
        for i in range(ns):
            pulls[s * ns + i] = out[i]
        for i in range(ns, size):
            gradient[i] += out[i]
        integral[1] += share * out[size + 1]
    for s in range(12):
        for i in range(ns):
            gradient[i] += pulls[s * ns + i]
    return REGULAR


@native
def follow_adjoint(
    context: TangentFields, steps: int, times: Reals, states: Reals, gradient: Reals, integral:
    Reals, wanted: int, at: Reals, at_gradients: Reals,
) -> int:  # fmt: skip
    """Carry gradient (n_state + nx) from the end of stored steps to their beginning.

    at_gradients (wanted, n_state) are added where the wanted times are passed, which go the way of
    the steps. Returns 0, or
    -1 - k where the derivative is not determined on step k.
    """
    ns, size = context.n_state, context.n_directions
    side = context.scratch
    end, nothing, probe = side + size, side + (size + ns), side + (size + ns + 2)
    ratios = context.ratios
    left = wanted
    for back in range(steps + 1):
        k = steps - back
        t, y = times[k], states + k * ns
        if k < steps:
            h = times[k + 1] - t
            set_probe(context, probe)
            if tangent_step(context, t, h, y, probe, end) != REGULAR:
                return -1 - k
            ratios[k] = probe_error(context, h, probe)
            if adjoint_step(context, t, h, y, states + (k + 1) * ns, gradient, integral) != REGULAR:
                return -1 - k
            while left > 0 and (at[left - 1] - t) * h > 0.0:
                left -= 1
                for i in range(ns):
                    side[i] = at_gradients[left * ns + i]
                for i in range(ns, size):
                    side[i] = 0.0
                nothing[0] = 0.0
                nothing[1] = 0.0
                if short_state(context, t, at[left] - t, y, end) != REGULAR:
                    return -1 - k
                if adjoint_step(context, t, at[left] - t, y, end, side, nothing) != REGULAR:
                    return -1 - k
                for i in range(size):
                    gradient[i] += side[i]
        while left > 0 and at[left - 1] == t:
            left -= 1
            for i in range(ns):
                gradient[i] += at_gradients[left * ns + i]
    return 0
