"""W6: robots from files to accelerations, inverse dynamics and its first derivatives.

``python benchmarks/w6_robots.py ENTRY MODEL`` measures one entry: seconds from the file to the
first accelerations, and microseconds of one evaluation. Every answer is compared with recursive
Newton-Euler equations in NumPy.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from harness import Clock, Entry, Workload, cpu_seconds, per_call, report, serve
from w6_models import GRAVITY, Task, exact, task_of

LARGEST_ERROR = 1e-9
#: States of one call of our native loops, and numbers of its result: no more than a cache holds.
MANY, RESULTS = 500, 500_000
#: Set where a process only fills the cache of a warm start.
FILLING = "BENCH_FILL"


@dataclass(frozen=True)
class Robot:
    """What an entry hands over: joint accelerations, and tasks with their numbers of evaluations.

    Tasks marked by `overhead` are calls from Python; the same calls on one joint are subtracted.
    """

    accelerations: Callable[[], np.ndarray]
    tasks: dict[str, Callable[[], tuple[Callable[[], Any], int]]]
    overhead: bool = False
    stages: dict[str, float] = field(default_factory=dict)


def dalembert(task: Task) -> Robot:
    import dalembert as da

    warnings.simplefilter("ignore", da.errors.DalembertWarning)
    clock = Clock()
    base = "free" if task.free else "fixed"
    mechanism = da.bodies.load_mechanism(task.path, base=base, limits=False, check=False)
    given: dict[str, Any] = dict(zip(task.joints, task.q, strict=True))
    given |= {f"{name}_dot": rate for name, rate in zip(task.joints, task.v, strict=True)}
    if task.free:
        given |= {f"base_{x}": value for x, value in zip("xyz", task.position, strict=True)}
        given["base"] = da.bodies.quaternion(*task.quaternion)
        given["base_dot"] = da.bodies.twist(task.spin, task.velocity, "mixed")
    start = mechanism.start(given)
    read, _ = clock.read()
    model = da.bodies.BodyModel(mechanism, native=True)
    named, _ = clock.read()
    q, v = (np.array([start[name + end] for name in model.names]) for end in ("", "_dot"))
    places = [model.names.index(name) for name in task.joints]

    def batch(ask: str, size: int) -> Callable[[], tuple[Callable[[], Any], int]]:
        count = max(10, min(MANY, RESULTS // size))
        many = [np.tile(each, (count, 1)) for each in (q, v, v)]
        return lambda: (lambda: getattr(model, ask)(*many), count)

    def equations(ask: str) -> Callable[[], tuple[Callable[[], Any], int]]:
        def made() -> tuple[Callable[[], Any], int]:
            kernel, state = da.derive(model.system, "lagrange").compile(), np.concatenate([q, v])
            if ask == "call":
                return lambda: kernel.rates(0.0, state), 1
            return lambda: kernel.time_native(0.0, state, (), 1000), 1000

        return made

    tasks = {
        "call_us": equations("call"),
        "native_us": equations("native"),
        "inverse_us": batch("inverse_dynamics", len(q)),
    }
    tasks["derivatives_us"] = batch("inverse_derivatives", 3 * len(q) ** 2)
    return Robot(
        lambda: model.forward_dynamics(q, v, np.zeros(len(q)))[places],
        tasks,
        stages={"stage_file_s": read, "stage_state_s": named - read},
    )


def pinocchio_state(task: Task) -> tuple[Any, np.ndarray, np.ndarray, list[int]]:
    """Pinocchio's model of a robot, its coordinates, its velocities, and the indices of joints."""
    import pinocchio as pin

    root = (pin.JointModelFreeFlyer(),) if task.free else ()
    model = pin.buildModelFromUrdf(str(task.path), *root)
    q, v = pin.neutral(model), np.zeros(model.nv)
    places = [model.idx_vs[model.getJointId(name)] for name in task.joints]
    for name, at, angle, rate in zip(task.joints, places, task.q, task.v, strict=True):
        here = model.idx_qs[model.getJointId(name)]
        # a continuous joint has its cosine and sine as coordinates
        two = model.nqs[model.getJointId(name)] == 2
        q[here : here + 1 + two] = (np.cos(angle), np.sin(angle)) if two else angle
        v[at] = rate
    if task.free:
        w, *vector = task.quaternion
        q[:7] = [*task.position, *vector, w]
        v[:3], v[3:6] = task.turned.T @ task.velocity, task.turned.T @ task.spin
    return model, q, v, places


def pinocchio(task: Task) -> Robot:
    import pinocchio as pin

    model, q, v, places = pinocchio_state(task)
    data, zero = model.createData(), np.zeros(model.nv)
    return Robot(
        lambda: pin.aba(model, data, q, v, zero)[places],
        {
            "call_us": lambda: (lambda: pin.aba(model, data, q, v, zero), 1),
            "inverse_us": lambda: (lambda: pin.rnea(model, data, q, v, zero), 1),
            "derivatives_us": lambda: (
                lambda: pin.computeRNEADerivatives(model, data, q, v, zero),
                1,
            ),
        },
        overhead=True,
    )


#: A native loop behind C code of CasADi; the next input depends on the last output.
LOOP = """
void repeat(int count, const double* q, double* v, const double* u, double* out) {
  const double* arguments[8] = {q, v, u};
  double* results[8] = {out};
  static casadi_int integers[100000];
  static double numbers[1000000];
  for (int k = 0; k < count; ++k) {
    NAME(arguments, results, integers, numbers, 0);
    v[LAST] += 1e-13 * out[LAST];
  }
}
"""


def pinocchio_generated(task: Task) -> Robot:
    """C code of Pinocchio over CasADi, by gcc -O3; BENCH_GENERATOR names the program of it."""
    model, q, v, places = pinocchio_state(task)
    folder = Path(tempfile.mkdtemp())
    model.saveToBinary(str(folder / "model.bin"))
    out, zero = np.zeros(model.nv), np.zeros(model.nv)

    def compiled(name: str) -> Callable[[int], None]:
        code, library = folder / f"{name}.c", folder / f"{name}.so"
        program = os.environ["BENCH_GENERATOR"]
        command = [program, str(folder / "model.bin"), code.name, name]
        subprocess.run(command, cwd=folder, check=True)
        with code.open("a") as file:
            file.write(LOOP.replace("NAME", name).replace("LAST", str(model.nv - 1)))
        options = ["-O3", "-march=native", "-fPIC", "-shared", "-lm"]
        subprocess.run(["gcc", str(code), *options, "-o", str(library)], check=True)
        loop = ctypes.CDLL(str(library)).repeat
        arrays = [ctypes.c_void_p(each.ctypes.data) for each in (q, v, zero, out)]
        return lambda count: loop(count, *arrays)

    forward = compiled("aba")

    def accelerations() -> np.ndarray:
        forward(1)
        return out[places].copy()

    def inverse() -> tuple[Callable[[], Any], int]:
        loop = compiled("rnea")
        return lambda: loop(1000), 1000

    return Robot(
        accelerations,
        {"native_us": lambda: (lambda: forward(1000), 1000), "inverse_us": inverse},
    )


def mujoco(task: Task) -> Robot:
    import mujoco as mj

    path = task.path
    if task.free:  # MuJoCo fixes the root link unless the file has a floating joint
        text = path.read_text()
        ends = f'<parent link="world"/><child link="{task.root}"/>'
        floating = f'<joint name="floating" type="floating">{ends}</joint>'
        path = path.with_suffix(".floating.urdf")
        path.write_text(text.replace("</robot>", f'<link name="world"/>{floating}</robot>'))
    model = mj.MjModel.from_xml_path(str(path))
    model.opt.gravity[:] = 0, 0, -GRAVITY
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mj.MjData(model)
    ids = [mj.mj_name2id(model, mj.mjtObj.mjOBJ_JOINT, name) for name in task.joints]
    places = [int(model.jnt_dofadr[each]) for each in ids]
    for each, angle in zip(ids, task.q, strict=True):
        data.qpos[model.jnt_qposadr[each]] = angle
    data.qvel[places] = task.v
    if task.free:
        data.qpos[:3], data.qpos[3:7] = task.position, task.quaternion
        data.qvel[:3], data.qvel[3:6] = task.velocity, task.turned.T @ task.spin

    def forward() -> np.ndarray:
        mj.mj_forward(model, data)
        return data.qacc[places].copy()

    return Robot(
        forward,
        {
            "call_us": lambda: (lambda: mj.mj_forward(model, data), 1),
            "inverse_us": lambda: (lambda: mj.mj_inverse(model, data), 1),
        },
        overhead=True,
    )


def drake(task: Task) -> Robot:
    import logging

    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import MultibodyForces

    logging.getLogger("drake").setLevel(logging.ERROR)
    plant = MultibodyPlant(time_step=0.0)
    Parser(plant).AddModels(str(task.path))
    if not task.free and task.root != "world":
        plant.WeldFrames(plant.world_frame(), plant.GetBodyByName(task.root).body_frame())
    plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    q, v = np.zeros(plant.num_positions()), np.zeros(plant.num_velocities())
    found = [plant.GetJointByName(name) for name in task.joints]
    places = [joint.velocity_start() for joint in found]
    for joint, angle, rate in zip(found, task.q, task.v, strict=True):
        q[joint.position_start()], v[joint.velocity_start()] = angle, rate
    if task.free:
        (index,) = plant.GetFloatingBaseBodies()
        link = plant.get_body(index)
        first, second = link.floating_positions_start(), link.floating_velocities_start_in_v()
        q[first : first + 7] = [*task.quaternion, *task.position]
        v[second : second + 6] = [*task.spin, *task.velocity]
    x, forces = np.concatenate([q, v]), MultibodyForces(plant)

    def rates() -> Any:
        plant.SetPositionsAndVelocities(context, x)
        return plant.EvalTimeDerivatives(context)

    def inverse() -> Any:
        plant.SetPositionsAndVelocities(context, x)
        return plant.CalcInverseDynamics(context, v, forces)

    return Robot(
        lambda: rates().CopyToVector()[len(q) :][places],
        {"call_us": lambda: (rates, 1), "inverse_us": lambda: (inverse, 1)},
        overhead=True,
    )


FILES = "robot files"
OURS = (
    "sympy",
    "dalembert.model.io.robots.load",
    "dalembert.runtime.kernel",
    "dalembert.bodies.numbers",
)
SIZES = ("chain10", "tree10", "quadruped", "humanoid", "chain50", "tree50", "chain200", "tree200")
#: Further sizes where BENCH_ROBOTS names a folder with these files.
PUBLIC = ("ur5", "panda", "solo12", "talos_full")
#: Robots whose C code gcc compiles within the limit of a measurement.
COMPILED = ("chain10", "tree10", "quadruped", "humanoid", *PUBLIC)
ENTRIES = (
    Entry("dalembert", FILES, dalembert, OURS),
    Entry(
        "dalembert-first-run", FILES, dalembert, OURS, first_run=True, sizes=("chain10", "humanoid")
    ),
    Entry("dalembert-warm", FILES, dalembert, OURS, sizes=("chain10", "humanoid")),
    Entry("pinocchio", FILES, pinocchio, ("pinocchio",)),
    *(
        (
            Entry(
                "pinocchio-generated-c",
                FILES,
                pinocchio_generated,
                ("pinocchio",),
                compiler=True,
                sizes=COMPILED,
            ),
        )
        if "BENCH_GENERATOR" in os.environ
        else ()
    ),
    Entry("mujoco", FILES, mujoco, ("mujoco",)),
    Entry("drake", FILES, drake, ("pydrake.multibody.plant",)),
)
WORKLOAD = Workload(
    key="W6",
    title="Robots from files: accelerations, inverse dynamics and its derivatives",
    script="w6_robots.py",
    entries=ENTRIES,
    sizes=(*SIZES, *(PUBLIC if "BENCH_ROBOTS" in os.environ else ())),
    shown_size="humanoid",
    quick_sizes=("chain10", "quadruped"),
    label="",
    by_size=("derive_compile_s", "native_us", "inverse_us", "derivatives_us", "call_us"),
)


def measure(entry: Entry, size: str) -> None:
    name, folder = WORKLOAD.row_name(size), Path(tempfile.mkdtemp())
    task = task_of(size, folder)
    if entry.name.endswith("-warm"):  # another process has asked for the accelerations before
        command = [sys.executable, __file__, "dalembert", size]
        subprocess.run(command, env=os.environ | {FILLING: "1"}, check=True)
    filled = cpu_seconds() - time.process_time()
    clock = Clock()
    robot = entry.build(task)
    found = np.asarray(robot.accelerations())
    if FILLING in os.environ:
        return
    cpu, _ = clock.read()
    script = cpu_seconds() - filled
    expected = exact(task)
    error = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    if not error < LARGEST_ERROR:
        report(name, entry.name, "status", f"wrong: error {error:.1e}", error)
        return
    report(name, entry.name, "derive_compile_s", cpu, error)
    for stage, seconds in robot.stages.items():
        report(name, entry.name, stage, seconds, error)
    report(name, entry.name, "script_s", script, error)
    least = entry.build(task_of("chain1", folder)) if robot.overhead else None
    for metric, make in robot.tasks.items():
        calls, count = make()
        spent = 1e6 * per_call(calls) / count
        if metric == "call_us":
            report(name, entry.name, metric, spent, error)
        if least is not None:
            beside, _ = least.tasks[metric]()
            spent -= 1e6 * per_call(beside)
        if metric != "call_us" or least is not None:
            native = "native_us" if metric == "call_us" else metric
            report(name, entry.name, native, spent, error)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
