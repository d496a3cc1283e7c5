"""MuJoCo and Drake on one MJCF text, as they come, behind one interface for the cases of W7.

``turn`` sets a joint, ``place`` a free body; ``advance`` counts the processor time of its steps.
"""

from __future__ import annotations

import logging
import math
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["WORLDS", "DrakeWorld", "MuJoCoWorld"]

Load = Callable[[float], float]


class MuJoCoWorld:
    """MuJoCo with its defaults: 2 ms, soft contacts with a time constant of 20 ms."""

    step = 2e-3

    def __init__(
        self, xml: str, springs: Mapping[str, float], restitution: float | None = None
    ) -> None:
        import mujoco

        self.mj, self.seconds = mujoco, 0.0
        self.model = mujoco.MjModel.from_xml_string(xml)
        for name, stiffness in springs.items():
            self.model.jnt_stiffness[self._joint(name)] = stiffness
        if restitution is not None:
            # An elastic contact: stiffness and damping of an oscillator that loses as much.
            stiff, lost = 1e5, -math.log(min(restitution, 0.999999))
            damping = 2 * lost * math.sqrt(stiff) / math.hypot(math.pi, lost)
            self.model.geom_solref[:] = -stiff, -damping
            self.model.geom_solimp[:, :2] = 0.99, 0.99
        self.data = mujoco.MjData(self.model)

    def _joint(self, name: str) -> int:
        return int(self.mj.mj_name2id(self.model, self.mj.mjtObj.mjOBJ_JOINT, name))

    def turn(self, joint: str, value: float, speed: float) -> None:
        k = self._joint(joint)
        self.data.qpos[self.model.jnt_qposadr[k]] = value
        self.data.qvel[self.model.jnt_dofadr[k]] = speed

    def place(self, place: Any, wxyz: Any, velocity: Any, spin: Any) -> None:
        """Place the one free body; its spin is about the axes of the body."""
        self.data.qpos[:7] = [*place, *wxyz]
        self.data.qvel[:6] = [*velocity, *spin]

    def advance(self, until: float, load: tuple[str, Load] | None = None) -> None:
        began = time.process_time()
        while self.data.time < until - self.step / 2:
            if load is not None:
                force = load[1](self.data.time + self.step / 2)
                self.data.qfrc_applied[self.model.jnt_dofadr[self._joint(load[0])]] = force
            self.mj.mj_step(self.model, self.data)
        self.seconds += time.process_time() - began

    def joint(self, name: str) -> tuple[float, float]:
        k = self._joint(name)
        place, rate = self.model.jnt_qposadr[k], self.model.jnt_dofadr[k]
        return float(self.data.qpos[place]), float(self.data.qvel[rate])

    def body(self) -> tuple[Any, Any]:
        """The axes of the one free body, and its spin about them."""
        axes = np.zeros(9)
        self.mj.mju_quat2Mat(axes, self.data.qpos[3:7])
        return axes.reshape(3, 3), self.data.qvel[3:6].copy()


class DrakeWorld:
    """Drake with its defaults: discrete, 1 ms, point contact; it has no restitution."""

    step = 1e-3

    def __init__(
        self, xml: str, springs: Mapping[str, float], restitution: float | None = None
    ) -> None:
        from pydrake.geometry import SceneGraphConfig
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
        from pydrake.multibody.tree import PrismaticSpring
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        logging.getLogger("drake").setLevel(logging.ERROR)
        self.seconds, builder = 0.0, DiagramBuilder()
        config = MultibodyPlantConfig(time_step=self.step, contact_model="point")
        self.plant, scene = AddMultibodyPlant(config, builder)
        if restitution is not None:
            # Nothing dissipates: what loses least.
            elastic = SceneGraphConfig()
            elastic.default_proximity_properties.hunt_crossley_dissipation = 0.0
            elastic.default_proximity_properties.relaxation_time = 0.0
            scene.set_config(elastic)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "scene.xml"
            file.write_text(xml, encoding="utf-8")
            Parser(self.plant).AddModels(str(file))
        for name, stiffness in springs.items():
            spring = PrismaticSpring(self.plant.GetJointByName(name), 0.0, stiffness)
            self.plant.AddForceElement(spring)
        self.plant.Finalize()
        self.simulator = Simulator(builder.Build())
        root = self.simulator.get_mutable_context()
        self.context = self.plant.GetMyMutableContextFromRoot(root)

    def turn(self, joint: str, value: float, speed: float) -> None:
        found = self.plant.GetJointByName(joint)
        places = self.plant.GetPositions(self.context)
        rates = self.plant.GetVelocities(self.context)
        places[found.position_start()], rates[found.velocity_start()] = value, speed
        self.plant.SetPositions(self.context, places)
        self.plant.SetVelocities(self.context, rates)

    def place(self, place: Any, wxyz: Any, velocity: Any, spin: Any) -> None:
        from pydrake.common.eigen_geometry import Quaternion
        from pydrake.math import RigidTransform
        from pydrake.multibody.math import SpatialVelocity

        body = self.plant.GetBodyByName("body")
        turned = Quaternion(np.array(wxyz, float) / np.linalg.norm(wxyz))
        self.plant.SetFreeBodyPose(self.context, body, RigidTransform(turned, np.array(place)))
        twist = SpatialVelocity(turned.rotation() @ np.array(spin, float), np.array(velocity))
        self.plant.SetFreeBodySpatialVelocity(self.context, body, twist)

    def advance(self, until: float, load: tuple[str, Load] | None = None) -> None:
        began = time.process_time()
        if load is not None:
            forces = np.zeros(self.plant.num_velocities())
            place = self.plant.GetJointByName(load[0]).velocity_start()
            port = self.plant.get_applied_generalized_force_input_port()
            for k in range(round(until / self.step)):
                forces[place] = load[1]((k + 0.5) * self.step)
                port.FixValue(self.context, forces)
                self.simulator.AdvanceTo((k + 1) * self.step)
        else:
            self.simulator.AdvanceTo(until)
        self.seconds += time.process_time() - began

    def joint(self, name: str) -> tuple[float, float]:
        found = self.plant.GetJointByName(name)
        place, rate = found.position_start(), found.velocity_start()
        places, rates = (
            self.plant.GetPositions(self.context),
            self.plant.GetVelocities(self.context),
        )
        return float(places[place]), float(rates[rate])

    def body(self) -> tuple[Any, Any]:
        body = self.plant.GetBodyByName("body")
        axes = self.plant.EvalBodyPoseInWorld(self.context, body).rotation().matrix()
        spin = self.plant.EvalBodySpatialVelocityInWorld(self.context, body).rotational()
        return axes, axes.T @ spin


WORLDS = {"mujoco": MuJoCoWorld, "drake": DrakeWorld}
