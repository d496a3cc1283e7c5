"""W9: closed mechanisms, from the model to a step of it, as the number of loops grows.

``python benchmarks/w9_mechanisms.py ENTRY SIZE`` measures one entry. A size is a family and a
number: ``rods-40`` (40 four-bars of masses and rods in Cartesian coordinates), ``braced-40`` (with
a redundant rod), ``tree-40`` (the same in the angles of a chain of couplers), ``joints-40`` (rigid
bodies in joint coordinates), ``net-8`` (8 x 8 masses), ``bricard``, ``stewart``.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import w9_models
from harness import Clock, Entry, Workload, cpu_seconds, per_call, report, serve

LARGEST_ERROR = 1e-7
STEP = 1e-4
#: Steps are timed in runs of at least this long, and of at most so many steps.
LEAST_SECONDS, MOST_STEPS = 0.1, 16384
FAMILIES = {"rods": w9_models.four_bars, "braced": w9_models.braced_four_bars, "net": w9_models.net}
BODIES = {"m": 1.0, "l": 1.0, "g": w9_models.GRAVITY}


@dataclass(frozen=True)
class Built:
    """What an entry hands over.

    `found` are the accelerations at the start and `expected` those of a closed form or of a dense
    solve (None if there is neither). `readings` are measurements by metric, made on request;
    `stages` are those made on the way.
    """

    found: np.ndarray | None
    expected: np.ndarray | None
    readings: dict[str, Callable[[], float]]
    stages: dict[str, float] = field(default_factory=dict)


def family_of(size: str) -> tuple[str, int]:
    name, _, number = size.partition("-")
    return name, int(number or 1)


@dataclass(frozen=True)
class _Model:
    system: Any
    start: Any
    parameters: dict[str, float]
    expected: np.ndarray | None


def _model(size: str) -> _Model:
    import dalembert as da

    family, number = family_of(size)
    if family in FAMILIES:
        rods = FAMILIES[family](number)
        system = w9_models.stated(rods)
        return _Model(system, _start(system, rods.state), {}, rods.accelerations())
    if family == "tree":
        system, state = w9_models.coupler_chain(number)
        first = w9_models.four_bars(number).accelerations()[:2]
        expected = np.concatenate([first, np.zeros(number)])
        return _Model(system, _start(system, state), {}, expected)
    if family == "joints":
        from dalembert.gallery.bodies.four_bars import mechanism

        return _Model(mechanism(number).system(), {"a0_dot": 0.5}, BODIES, None)
    found = da.gallery.load({"bricard": "bricard-six-bar", "stewart": "stewart-platform"}[family])
    return _Model(found.system, dict(found.start), dict(found.parameters), None)


def _start(system: Any, state: np.ndarray) -> dict[Any, float]:
    return dict(zip([*system.coordinates, *system.velocities], state.tolist(), strict=True))


def dalembert(size: str) -> Built:
    return _simulated(size, {"method": "dop853"})


def dalembert_rattle(size: str) -> Built:
    return _simulated(size, {"method": "rattle4", "step": STEP})


def _simulated(size: str, options: dict[str, Any]) -> Built:
    """State, run two steps, read the energy; then longer runs, and the solve alone."""
    import dalembert as da

    begin = time.process_time()
    model = _model(size)
    stated = time.process_time()
    if "step" not in options:
        options = options | {"first_step": STEP, "max_step": STEP}
    keywords: dict[str, Any] = {"parameters": model.parameters, **options}
    motion = da.simulate(model.system, model.start, (0.0, 2 * STEP), **keywords)
    simulated = time.process_time()
    told = dict(motion.statistics)
    parts = [value for name, value in told.items() if name.endswith("_seconds")]
    drift = float(np.ptp(motion.energy))
    stages = {
        "state_s": stated - begin,
        "compile_s": simulated - stated,
        "energy_s": time.process_time() - simulated,
        "accounted_share": sum(parts) / told["wall_seconds"] - 1.0,
        "energy_drift": drift,
    }
    kernel = da.derive(model.system, told["form"]).compile()
    state, p = motion.y[:, 0], [motion.parameters[s.name] for s in kernel.parameters]
    n, calls = len(model.system.coordinates), max(20, 20_000 // len(motion.y))

    def spent(steps: int) -> float:
        begin = time.process_time()
        da.simulate(model.system, motion.start, (0.0, steps * STEP), **keywords)
        return time.process_time() - begin

    return Built(
        kernel.rates(0.0, state, p)[n:],
        model.expected,
        {
            "native_us": lambda: _per_evaluation(
                lambda: kernel.time_native(0.0, state, p, calls), calls
            ),
            "step_us": lambda: _per_step(spent),
        },
        stages,
    )


def _per_evaluation(task: Callable[[], Any], calls: int) -> float:
    return 1e6 * per_call(task) / calls


def _per_step(spent: Callable[[int], float]) -> float:
    """Microseconds of a step: what a longer run takes beyond a short one, the median of three.

    The short one takes long beside the resolution of the clock.
    """
    spent(2)
    steps = 2
    while spent(steps) < LEAST_SECONDS and steps < MOST_STEPS:
        steps *= 2
    found = [(spent(3 * steps) - spent(steps)) / (2 * steps) for _ in range(3)]
    return 1e6 * float(np.median(found))


def hand_c(size: str) -> Built:
    """A sparse L D L^T of the rods in C, in SuperLU's minimum degree order; steps of DOP853."""
    family, number = family_of(size)
    rods = FAMILIES[family](number)
    os.chdir(tempfile.mkdtemp())
    source = Path(__file__).with_name("w9_hand.c").read_text()
    Path("f.c").write_text(f"{_tables(rods)}\n{source}")
    subprocess.check_call(
        ["gcc", "-O3", "-march=native", "-ffast-math", "-fPIC", "-shared", "f.c", "-o", "f.so"]
    )
    library = ctypes.CDLL("./f.so")
    state, found = rods.state, np.zeros(rods.places.size)

    def pointers() -> list[ctypes.c_void_p]:  # refers to the arrays, which live as long
        return [ctypes.c_void_p(array.ctypes.data) for array in (state, found)]

    library.rhs(*pointers())
    calls = max(20, 200_000 // len(state))

    def spent(steps: int) -> float:
        moved = state.copy()
        begin = time.process_time()
        library.steps(
            ctypes.c_void_p(moved.ctypes.data), ctypes.c_double(STEP), ctypes.c_long(steps)
        )
        return time.process_time() - begin

    return Built(
        found.copy(),
        rods.accelerations(),
        {
            "native_us": lambda: _per_evaluation(
                lambda: library.loop(*pointers(), ctypes.c_long(calls)), calls
            ),
            "step_us": lambda: _per_step(spent),
        },
    )


def _tables(rods: w9_models.Rods) -> str:
    """The arrays of `w9_hand.c`: the rods in elimination order, and the pattern of L."""
    from scipy.integrate._ivp import dop853_coefficients as dop853
    from scipy.sparse import coo_array, csc_array, eye_array
    from scipy.sparse.linalg import splu

    count, size = rods.places.shape
    moving = rods.ends < count
    places = np.nonzero(moving)
    incidence = coo_array(
        (np.ones(len(places[0])), (places[0], rods.ends[moving])), (len(rods.ends), count)
    ).tocsc()
    linked = csc_array(incidence @ incidence.T)
    heavy = csc_array(linked + 100 * eye_array(len(rods.ends)))
    order = np.argsort(
        splu(heavy, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).perm_c
    )
    ends, pattern = rods.ends[order], csc_array(linked[:, order][order])
    parent, counts, starts, s_rows, first = _elimination_tree(pattern)
    arrays = [
        ("int", "ends", f"[{len(ends)}][2]", ends),
        ("double", "length2", "[]", rods.lengths[order]),
        ("double", "fixed", "[]", rods.fixed.ravel()),
        ("int", "s_start", "[]", starts),
        ("int", "s_row", "[]", s_rows),
        ("int", "s_first", "[]", s_rows),
        ("int", "s_second", "[]", first),
        ("int", "parent", "[]", parent),
        ("int", "l_start", "[]", np.concatenate([[0], np.cumsum(counts)])),
        ("double", "a", "[12][12]", dop853.A[:12, :12]),
        ("double", "b", "[]", dop853.B),
    ]
    names = {"D": size, "P": count, "R": len(ends), "S_ENTRIES": len(s_rows)}
    names["ENTRIES"] = max(1, int(np.sum(counts)))
    lines = [f"#define {name} {number}" for name, number in names.items()]
    for kind, name, shape, numbers in arrays:
        values = ",".join(repr(number) for number in np.ravel(numbers).tolist())
        lines.append(f"static const {kind} {name}{shape} = {{{values}}};")
    return "\n".join(lines)


def _elimination_tree(pattern: Any) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Parents, entries of L by column, and the upper half of a symmetric pattern by columns."""
    n = pattern.shape[0]
    parent, counts, flag = [-1] * n, [0] * n, [-1] * n
    starts, rows, columns = [0], list[int](), list[int]()
    for k in range(n):
        flag[k] = k
        for i in sorted(pattern.indices[pattern.indptr[k] : pattern.indptr[k + 1]].tolist()):
            if i > k:
                continue
            rows.append(i)
            columns.append(k)
            while flag[i] != k:
                if parent[i] < 0:
                    parent[i] = k
                counts[i] += 1
                flag[i] = k
                i = parent[i]
        starts.append(len(rows))
    return parent, counts, starts, rows, columns


def exudyn(size: str) -> Built:
    """Mass points and distance constraints, index 2 by the implicit trapezoidal rule."""
    import exudyn as exu
    import exudyn.itemInterface as items  # noqa: N813

    family, number = family_of(size)
    rods = FAMILIES[family](number)
    begin = time.process_time()
    container = exu.SystemContainer()
    system = container.AddSystem()
    spatial = rods.places.shape[1] == 3
    node, mass = (
        (items.NodePoint, items.MassPoint) if spatial else (items.NodePoint2D, items.MassPoint2D)
    )
    markers = []
    for place, speed in zip(rods.places.tolist(), rods.speeds.tolist(), strict=True):
        made = system.AddNode(node(referenceCoordinates=place, initialVelocities=speed))
        body = system.AddObject(mass(mass=1.0, nodeNumber=made))
        marker = system.AddMarker(items.MarkerBodyPosition(bodyNumber=body))
        down = [0.0, 0.0, -w9_models.GRAVITY] if spatial else [0.0, -w9_models.GRAVITY, 0.0]
        system.AddLoad(items.Force(markerNumber=marker, loadVector=down))
        markers.append(marker)
    ground = system.AddObject(items.ObjectGround())
    for place in rods.fixed.tolist():
        local = [*place, 0.0][:3]
        markers.append(
            system.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=local))
        )
    for (i, j), length in zip(rods.ends.tolist(), rods.lengths.tolist(), strict=True):
        system.AddObject(
            items.DistanceConstraint(markerNumbers=[markers[i], markers[j]], distance=length**0.5)
        )
    system.Assemble()

    def spent(steps: int) -> float:
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.endTime = steps * STEP
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.timeIntegration.generalizedAlpha.useIndex2Constraints = True
        settings.timeIntegration.generalizedAlpha.useNewmark = True
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
        begin = time.process_time()
        system.SolveDynamic(settings, updateInitialValues=False)
        return time.process_time() - begin

    spent(1)
    stages = {"compile_s": time.process_time() - begin}
    return Built(None, None, {"step_us": lambda: _per_step(spent)}, stages)


def mujoco(size: str) -> Built:
    """Masses on slides and tendons of fixed length (soft constraints), Euler steps."""
    import mujoco as mj

    family, number = family_of(size)
    rods = FAMILIES[family](number)
    begin = time.process_time()
    places = np.zeros((len(rods.places), 3))
    kept = [0, 1, 2] if rods.places.shape[1] == 3 else [0, 2]
    places[:, kept] = rods.places
    fixed = np.zeros((len(rods.fixed), 3))
    fixed[:, kept] = rods.fixed
    axes = np.eye(3)[kept].tolist()
    slides = "".join(f'<joint type="slide" axis="{_text(axis)}"/>' for axis in axes)
    inertia = '<inertial pos="0 0 0" mass="1" diaginertia="1e-3 1e-3 1e-3"/>'
    bodies = "".join(
        f'<body pos="{_text(place)}">{slides}{inertia}<site name="s{k}"/></body>'
        for k, place in enumerate(places.tolist())
    )
    sites = "".join(
        f'<site name="s{len(places) + k}" pos="{_text(place)}"/>'
        for k, place in enumerate(fixed.tolist())
    )
    tendons = "".join(
        f'<spatial name="t{k}"><site site="s{i}"/><site site="s{j}"/></spatial>'
        for k, (i, j) in enumerate(rods.ends.tolist())
    )
    equal = "".join(f'<tendon tendon1="t{k}"/>' for k in range(len(rods.ends)))
    option = f'<option timestep="{STEP}" gravity="0 0 -9.81" jacobian="sparse"/>'
    model = mj.MjModel.from_xml_string(
        f"<mujoco>{option}<worldbody>{sites}{bodies}</worldbody>"
        f"<tendon>{tendons}</tendon><equality>{equal}</equality></mujoco>"
    )
    data = mj.MjData(model)
    data.qvel[:] = rods.speeds.ravel()
    mj.mj_step(model, data)
    stages = {"compile_s": time.process_time() - begin}

    def spent(steps: int) -> float:
        mj.mj_resetData(model, data)
        data.qvel[:] = rods.speeds.ravel()
        begin = time.process_time()
        mj.mj_step(model, data, steps)
        return time.process_time() - begin

    return Built(None, None, {"step_us": lambda: _per_step(spent)}, stages)


def drake(size: str) -> Built:
    """Masses on slides and distance constraints, steps of the SAP solver.

    Fixed points are bodies that are welded to the world: a constraint that names the world's own
    body ends Drake 1.51 with a segmentation fault in its first step.
    """
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
    from pydrake.multibody.tree import PrismaticJoint, SpatialInertia, UnitInertia
    from pydrake.systems.analysis import Simulator

    family, number = family_of(size)
    rods = FAMILIES[family](number)
    begin = time.process_time()
    kept = [0, 1, 2] if rods.places.shape[1] == 3 else [0, 2]
    plant = MultibodyPlant(STEP)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    solid = [SpatialInertia(m, np.zeros(3), UnitInertia.SolidSphere(0.01)) for m in (1e-9, 1.0)]
    bodies = []
    for k in range(len(rods.places)):
        frame = plant.world_frame()
        for axis in kept:
            inertia = solid[axis == kept[-1]]
            body = plant.AddRigidBody(f"b{k}_{axis}", inertia)
            joint = PrismaticJoint(f"j{k}_{axis}", frame, body.body_frame(), np.eye(3)[axis])
            plant.AddJoint(joint)
            frame = body.body_frame()
        bodies.append(body)
    for k, place in enumerate(rods.fixed):
        foot, where = plant.AddRigidBody(f"foot{k}", solid[1]), np.zeros(3)
        where[kept] = place
        plant.WeldFrames(plant.world_frame(), foot.body_frame(), RigidTransform(where))
        bodies.append(foot)
    for (i, j), length in zip(rods.ends.tolist(), rods.lengths.tolist(), strict=True):
        ends = bodies[i], np.zeros(3), bodies[j], np.zeros(3)
        plant.AddDistanceConstraint(*ends, length**0.5)
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()

    def spent(steps: int) -> float:
        context.SetTime(0.0)
        plant.SetPositions(context, rods.places.ravel())
        plant.SetVelocities(context, rods.speeds.ravel())
        simulator.Initialize()
        begin = time.process_time()
        simulator.AdvanceTo(steps * STEP)
        return time.process_time() - begin

    spent(1)
    stages = {"compile_s": time.process_time() - begin}
    return Built(None, None, {"step_us": lambda: _per_step(spent)}, stages)


def _text(numbers: list[float]) -> str:
    return " ".join(map(repr, numbers))


MODEL, FLOOR, STEPPED = "model", "equations by hand", "bodies, steps of first or second order"
OURS = ("sympy", "dalembert.integrate.simulate", "dalembert.runtime.kernel", "dalembert.gallery")
RODS = ("rods-1", "rods-10", "rods-40", "rods-100", "rods-200")
NETS = ("net-3", "net-5", "net-8", "net-14")
SIZES = (
    *RODS, "braced-10", "braced-40", "braced-200", "tree-10", "tree-40", "tree-200", "joints-10",
    "joints-40", "joints-200", *NETS, "bricard", "stewart",
)  # fmt: skip
ENTRIES = (
    Entry("dalembert", MODEL, dalembert, OURS),
    Entry("dalembert-rattle4", MODEL, dalembert_rattle, OURS, sizes=(*RODS, *NETS)),
    Entry("hand-C", FLOOR, hand_c, ("scipy.sparse.linalg",), compiler=True, sizes=(*RODS, *NETS)),
    Entry("exudyn", STEPPED, exudyn, ("exudyn",), sizes=(*RODS, *NETS)),
    Entry("mujoco", STEPPED, mujoco, ("mujoco",), sizes=(*RODS, *NETS)),
    Entry(
        "drake",
        STEPPED,
        drake,
        ("pydrake.multibody.plant", "pydrake.systems.analysis"),
        sizes=(*RODS, *NETS),
    ),
)
WORKLOAD = Workload(
    key="W9",
    title="Closed mechanisms: seconds to the first step, a step, the energy, memory",
    script="w9_mechanisms.py",
    entries=ENTRIES,
    sizes=SIZES,
    shown_size="rods-40",
    quick_sizes=("rods-10", "tree-10", "net-3"),
    label="",
    by_size=("compile_s", "energy_s", "native_us", "step_us", "memory_mb"),
)


def measure(entry: Entry, size: str) -> None:
    name, before = WORKLOAD.row_name(size), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock = Clock()
    built = entry.build(size)
    cpu, _ = clock.read()
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    error = None
    if built.found is not None and built.expected is not None:
        difference = np.abs(built.found - built.expected)
        error = float(np.max(difference) / np.max(np.abs(built.expected)))
        if not error < LARGEST_ERROR:
            report(name, entry.name, "status", f"wrong: error {error:.1e}", error)
            return
    report(name, entry.name, "derive_compile_s", cpu, error)
    report(name, entry.name, "script_s", cpu_seconds(), error)
    report(name, entry.name, "memory_mb", memory, error)
    for metric, value in built.stages.items():
        report(name, entry.name, metric, value, error)
    for metric, read in built.readings.items():
        report(name, entry.name, metric, read(), error)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
