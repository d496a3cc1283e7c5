"""The fields of the context of a run, as native code finds them, after those of its kernel."""

from __future__ import annotations

from ..codegen.native.language import Integers, Reals, Record
from ..runtime.kernel_fields import KernelFields
from .contact_fields import ContactFields, ShapeFields
from .radau_fields import RadauFields

__all__ = [
    "Clock",
    "Control",
    "Counts",
    "FixedFields",
    "LaneFields",
    "RunFields",
    "TangentFields",
]


class Clock(Record):
    """Times and tolerances of a run.

    `cap` bounds the next step; `weakest` is the least pivot at the ends of steps by stages, 0 where
    rows were left out; `t_begin` is where the grid of fixed steps begins.
    """

    t: float
    h: float
    t_end: float
    t_old: float
    h_old: float
    max_step: float
    rtol: float
    cap: float
    weakest: float
    t_begin: float


class Counts(Record):
    """What a run counts.

    `number` is that of the last fixed step, `remembered` the steps that a guess may use, `factored`
    whether Newton's matrix is factored, `next_stored` the number of the next step that is stored.
    """

    evaluations: int
    accepted: int
    rejected: int
    projected: int
    recorded: int
    next_at: int
    last_status: int
    has_dense: int
    number: int
    sweeps: int
    remembered: int
    factored: int
    next_stored: int


class Control(Record):
    """Reversible steps: eps, densities between and at whole steps, rounding lost by the time."""

    epsilon: float
    density: float
    whole: float
    time_low: float


class Sampling(Record):
    """The clock of a sampled law, and what it has measured, commanded and applied.

    `kinds` are three for each instant: whether the law is sampled, a command takes effect, noise of
    the inputs changes. `commands` and `memory` have a row for each sample behind a first one,
    `pieces` four numbers for each switch and held input: two times and the values there.
    """

    observe_program: int
    law_program: int
    update_program: int
    n_measured: int
    n_commands: int
    n_memory: int
    n_held: int
    n_instants: int
    next_instant: int
    n_samples: int
    n_applied: int
    n_switches: int
    progress: int
    is_linear: int
    is_disturbed: int
    period: float
    width: float
    switched_on: float
    instants: Reals
    kinds: Integers
    measured: Reals
    noise: Reals
    quanta: Reals
    commands: Reals
    limits: Reals
    memory: Reals
    disturbances: Reals
    pieces: Reals
    table_places: Integers


class RunFields(KernelFields):
    """A run whose steps adapt: arrays, then sizes and switches."""

    clock: Clock
    counts: Counts
    y: Reals
    y_old: Reals
    y_new: Reals
    stages: Reals
    spare_stages: Reals
    dense: Reals
    stage: Reals
    at: Reals
    at_states: Reals
    step_times: Reals
    step_states: Reals
    events_old: Reals
    events_new: Reals
    events_tried: Reals
    atol: Reals
    n_at: int
    capacity: int
    n_events: int
    n_searched: int
    n_parts: int
    projects: int
    exact_at: int
    is_controlled: int
    # The Taylor expansion; zero in `expansion`: the run takes its steps otherwise.
    expansion: int
    expansion_order: int
    expansion_size: int
    expansion_work: Reals
    coefficients: Reals
    # The watch of constraint rows that vanish: its program, zero where they are not watched; the
    # rows at the last look and room for the next; the largest squared lengths and the row that was
    # found; time and state of the last look; how many entries and rows there are.
    watch_program: int
    watch_old: Reals
    watch_new: Reals
    watch_largest: Reals
    watch_state: Reals
    n_watch_entries: int
    n_watched: int
    sampling: Sampling
    radau: RadauFields


class FixedFields(RunFields):
    """A run with fixed steps."""

    # Working arrays of the loop and of the collocation methods.
    rounding: Reals
    delta: Reals
    unknowns_now: Reals
    fresh: Reals
    least: Reals
    before: Reals
    before_last: Reals
    nodes: Reals
    weights: Reals
    mix: Reals
    guess: Reals
    long_guess: Reals
    # Of Newton's method.
    jacobian: Reals
    factor: Reals
    factor_diagonals: Reals
    factor_order: Integers
    residual: Reals
    # Of the matrices that move by a group.
    generator_size: Integers
    generator_place: Integers
    generator_unknown: Integers
    generator_skew: Integers
    action_rows: Integers
    action_columns: Integers
    action_left: Integers
    action_right: Integers
    action_place: Integers
    action_first_read: Integers
    action_last_read: Integers
    action_needed: Integers
    fill_places: Integers
    fill_factors: Reals
    read_places: Integers
    read_factors: Reals
    rest: Integers
    constants: Reals
    matrices: Reals
    generators: Reals
    left: Reals
    right: Reals
    algebra: Reals
    matrix_work: Reals
    # Of steps by positions.
    substep: Reals
    substep_end: Reals
    forces: Reals
    lost: Reals
    field_program: int
    substep_program: int
    velocity_program: int
    n_conditions: int
    n_directions: int
    # The program of the generators; sizes and switches.
    generator_program: int
    n_generators: int
    n_actions: int
    n_entries: int
    n_fills: int
    n_rest: int
    n_stages: int
    n_stage_unknowns: int
    n_steps: int
    store_every: int
    uses_newton: int
    at_numbers: Integers
    # Steps whose equations are programs: roots now and before, factors of their matrices.
    root_residual_program: Integers
    root_matrix_program: Integers
    root_size: Integers
    root_first: Integers
    root_increments: Integers
    root_first_factor: Integers
    root_symbols_from: Integers
    root_symbols_to: Integers
    n_root_stages: int
    root_begin: int
    root_end: int
    root_width: int
    root_step: Reals
    root_input: Reals
    roots_now: Reals
    roots_before: Reals
    roots_earlier: Reals
    root_factors: Reals
    root_diagonals: Reals
    root_scales: Reals
    root_order: Integers
    root_kept: Integers
    root_residual: Reals
    # The reversible control: its program, numbers, and size and rate at the last whole step.
    control_program: int
    control: Control
    density_values: Reals
    contact: ContactFields
    shapes: ShapeFields


class LaneFields(RunFields):
    """Many runs by Taylor coefficients, eight at a time.

    `pivots` are the least pivots below which a run is doubtful, and below which its last state is
    looked at. A lane holds `n_full` numbers: the state, its deviations, and the integral of the
    logarithm of the first of them where that is averaged. A deviation is kept as a vector times a
    power of two (`lane_powers`).
    """

    lane_expansion: int
    lane_sum: int
    lane_order: int
    lane_size: int
    n_parameters: int
    n_runs: int
    most_steps: int
    lane_work: Reals
    lane_found: Reals
    lane_times: Reals
    lane_states: Reals
    lane_parameters: Reals
    lane_new: Reals
    lane_sizes: Reals
    lane_run: Integers
    lane_next: Integers
    lane_steps: Integers
    run_parameters: Reals
    run_starts: Reals
    run_states: Reals
    run_codes: Integers
    run_steps: Integers
    pivots: Reals
    progress: Integers
    # Constraint rows that are watched in each lane, as `row_reversed` leaves them.
    lane_watch: Reals
    # Deviations: how many, whether the logarithm of the first is integrated (1) and averaged (2),
    # programs that make them tangent.
    n_full: int
    n_deviations: int
    is_averaged: int
    position_tangent: int
    velocity_tangent: int
    lane_powers: Reals
    lane_largest: Reals
    lane_means: Reals
    deviation_room: Reals
    deviation_noted: Reals
    deviation_sizes: Reals
    run_deviations: Reals


class TangentFields(KernelFields):
    """The derivatives of a motion along its steps."""

    tangent: int
    adjoint: int
    position_tangent: int
    velocity_tangent: int
    position_adjoint: int
    velocity_adjoint: int
    n_directions: int
    n_columns: int
    width: int
    is_projected: int
    stages: Reals
    stage_states: Reals
    stage_derivatives: Reals
    moved: Reals
    pushed: Reals
    pulled: Reals
    stage_pulls: Reals
    scratch: Reals
    probe: Reals
    ratios: Reals
    seed: Reals
