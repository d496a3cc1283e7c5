"""The parts of a model file that state a mechanism: [bodies], [joints] and `gravity`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import sympy

from ...errors import DalembertError, FileError, ModelError, nearest
from ..bodies import elements, joints, rolling
from ..bodies.body import GROUND, Body, Frame
from ..bodies.body_starts import twist
from ..bodies.contributions import Element
from ..bodies.joints import Joint
from ..bodies.mechanism import Mechanism
from ..bodies.vectors import IDENTITY, as_rotation
from ..constraints import Constraint
from ..names import shortened
from ..symbols import Input
from ..system import System
from .file_body_values import BodyValues, wrong

if TYPE_CHECKING:
    from .files import Toml

__all__ = ["BODY_KEYS", "BodiesReader", "check_no_bodies", "extended_system", "joint_starts"]
__all__ += ["states_bodies"]

BODY_KEYS = ("bodies", "joints", "gravity")
MOST_BODIES = 300
MOST_JOINTS = 600
#: Keys that state a system in another way.
_OTHER_WAYS: tuple[str, ...] = (
    "lagrangian",
    "kinetic",
    "hamiltonian",
    "potential",
    "dissipation",
    "image",
)
_OTHER_WAYS += ("bundle", "rates", "home")
_BODY = ("mass", "com", "inertia", "inertia_rotation", "shapes", "check")
_ENDS = ("kind", "parent", "child", "at", "rotation", "child_at", "child_rotation")
_ALONG = ("stiffness", "rest", "damping", "armature", "effort", "speed", "friction_loss")
_ROUGH = ("friction", "static_friction", "spinning_friction", "rolling_friction")
_BEARING = ("friction", "static_friction", "radius")
_ACTING = (*_ALONG, "force", "limits", "restitution", "coordinates")
#: Further keys of each kind of joint, and of what else connects bodies.
_JOINTS: dict[str, tuple[str, ...]] = {
    "weld": (),
    "revolute": ("axis", *_BEARING),
    "prismatic": ("axis", *_BEARING),
    "screw": ("axis", "lead"),
    "cylindrical": ("axis",),
    "universal": ("axes",),
    "planar": (),
    "spherical": ("angles",),
    "free": ("angles",),
}
_ELEMENTS: dict[str, tuple[str, ...]] = {
    "rolling": (*_ENDS, "surface", "ground", "slips", "spins", *_ROUGH),
    "knife-edge": (*_ENDS, "axis"),
    "no-spin": (*_ENDS, "axis"),
    "spring": (*_ENDS, "stiffness", "length", "damping"),
    "damper": (*_ENDS, "damping"),
    "bushing": (*_ENDS, "stiffness", "damping"),
    "distance": (*_ENDS, "length"),
    "wrench": ("kind", "child", "child_at", "child_rotation", "force", "torque", "follows"),
    "gear": ("kind", "joints", "ratio"),
    "coupling": ("kind", "relation"),
}

Fault = Callable[[DalembertError], None]


def states_bodies(table: Mapping[str, Any]) -> bool:
    """Whether a model file states a mechanism."""
    return any(key in table for key in BODY_KEYS)


def check_no_bodies(table: Mapping[str, Any], fault: Fault) -> None:
    """A file states bodies or a system in another way, not both."""
    stated = [key for key in _OTHER_WAYS if key in table]
    if states_bodies(table) and stated:
        fault(
            FileError(
                "A model file states bodies or energies",
                seen=f"bodies and {', '.join(stated)}",
                remedy="keep one of them",
            )
        )


class BodiesReader:
    """Reads the mechanism of a table: first its coordinates, then its parts."""

    def __init__(self, table: Mapping[str, Any], fault: Fault) -> None:
        self.table, self.fault = table, fault
        self.found: dict[str, Joint] = {}

    @property
    def statement(self) -> Literal["joint", "maximal"]:
        """Which coordinates the system has."""
        value = self.table.get("coordinates", "joint")
        if value == "joint" or value == "maximal":
            return value  # type: ignore[no-any-return]
        self.fault(wrong("coordinates", '"joint" or "maximal", since joints name them', value))
        return "joint"

    def coordinates(self) -> list[str]:
        """The names of all coordinates of joints."""
        names: list[str] = []
        for name, entry in self._tables("joints", MOST_JOINTS).items():
            kind = entry.get("kind") if isinstance(entry, dict) else None
            if isinstance(kind, str) and kind in _JOINTS:
                found = self._attempt(name, self._stub, name, entry)
                names += [] if found is None else [q.name for q in found.coordinates]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.fault(FileError(f"Two joints have the coordinate {shortened(name)}"))
        return list(dict.fromkeys(names))

    def mechanism(self, symbols: Mapping[str, sympy.Symbol], name: str) -> Mechanism | None:
        """The mechanism, or None where its parts are at fault."""
        self.values = BodyValues(symbols)
        self.bodies = {GROUND: Body(GROUND)}
        wrong_parts = 0
        for body, entry in self._tables("bodies", MOST_BODIES).items():
            made = self._attempt(body, self._body, body, entry)
            wrong_parts += made is None
            self.bodies[body] = made or Body(GROUND)
        parts: list[Joint | Element] = []
        for joint, entry in self._tables("joints", MOST_JOINTS).items():
            part = self._attempt(joint, self._part, joint, entry)
            wrong_parts += part is None
            if part is not None:
                parts.append(part)
        gravity = self._attempt(
            "gravity", self.values.vector, self.table.get("gravity", [0, 0, 0]), "gravity"
        )
        if wrong_parts or gravity is None:
            return None
        found: Mechanism | None = self._attempt("joints", self._whole, parts, gravity, name)
        return found

    def _whole(self, parts: list[Joint | Element], gravity: Any, name: str) -> Mechanism:
        found = Mechanism(parts, gravity=gravity, name=name)
        loose = [body for body in self.bodies if body != GROUND and not _has(found, body)]
        if loose:
            raise FileError(
                f"No joint leads to the body `{loose[0]}`", remedy="connect it, or remove it"
            )
        return found

    # -- tables ------------------------------------------------------------------------------------

    def _tables(self, key: str, most: int) -> Mapping[str, Any]:
        value = self.table.get(key, {})
        if not isinstance(value, dict):
            self.fault(wrong(key, f"a table of tables, [{key}.name]", value))
            return {}
        if len(value) > most:
            self.fault(FileError(f"There are more than {most} {key}", seen=len(value)))
            return {}
        return value

    def _attempt(self, where: str, read: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except ModelError as fault:
            self.fault(fault)
        except (TypeError, ValueError, ArithmeticError) as fault:
            what = f"The numbers of {shortened(where)} cannot be computed with"
            self.fault(FileError(what, shortened(str(fault)), "give finite numbers of usual size"))
        return None

    @staticmethod
    def _keys(entry: Any, where: str, known: Iterable[str]) -> None:
        if not isinstance(entry, dict):
            raise wrong(where, f"a table, [{where}]", entry)
        known = tuple(known)
        for key in entry:
            if key not in known:
                near = nearest(key, known)
                remedy = f"the nearest known key is `{near}`" if near else f"use {', '.join(known)}"
                raise FileError(f"The key {shortened(key)} is not known in `{where}`", None, remedy)

    # -- bodies and joints -------------------------------------------------------------------------

    def _body(self, name: str, entry: Toml) -> Body:
        where, read = f"bodies.{name}", self.values
        self._keys(entry, where, ("shapes",) if name == GROUND else _BODY)
        assert isinstance(entry, dict)
        options: dict[str, Any] = {}
        for key, how in (
            ("mass", read.scalar),
            ("com", read.vector),
            ("inertia", read.matrix),
            ("shapes", read.geometries),
        ):
            if key in entry:
                options[key] = how(entry[key], f"{where}.{key}")  # type: ignore[operator]
        if "inertia_rotation" in entry:
            key = "inertia_rotation"
            options["inertia_axes"] = read.rotation(entry[key], f"{where}.{key}")
        if "check" in entry:
            options["check"] = _flag(entry["check"], f"{where}.check")
        return Body(name, **options)

    def _place(self, entry: Mapping[str, Any], role: str, where: str) -> Frame:
        prefix = "" if role == "parent" else "child_"
        name = entry.get(role, GROUND if role == "parent" else None)
        if not isinstance(name, str) or name not in self.bodies:
            near = nearest(name, self.bodies) if isinstance(name, str) else None
            remedy = f"did you mean {near}" if near else "name a body under [bodies], or ground"
            raise FileError(f"`{where}.{role}` names no body", shortened(name), remedy)
        at, rotation = f"{prefix}at", f"{prefix}rotation"
        return Frame(self.bodies[name]).moved(
            self.values.vector(entry.get(at, [0, 0, 0]), f"{where}.{at}"),
            self.values.rotation(entry[rotation], f"{where}.{rotation}")
            if rotation in entry
            else IDENTITY,
        )

    def _stub(self, name: str, entry: Mapping[str, Any]) -> Joint:
        """A joint without what acts along it, for the names of its coordinates."""
        options = self._named(entry, f"joints.{name}")
        options |= {key: 1 for key in _BEARING if key in entry and key in _JOINTS[entry["kind"]]}
        if entry["kind"] == "screw":
            options["lead"] = 1
        make: Callable[..., Joint] = getattr(joints, entry["kind"])
        return make(name, Body(GROUND), Body("_"), **options)

    @staticmethod
    def _named(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
        """The sequence of angles and the names of coordinates."""
        options: dict[str, Any] = {}
        if "angles" in entry and entry["kind"] in ("spherical", "free"):
            options["angles"] = entry["angles"]
            if not isinstance(entry["angles"], str) or len(entry["angles"]) > 3:
                raise wrong(f"{where}.angles", 'a sequence such as "zyx"', entry["angles"])
        if "coordinates" in entry:
            names = entry["coordinates"]
            if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
                raise wrong(f"{where}.coordinates", "an array of names", names)
            options["coordinates"] = names
        return options

    def _part(self, name: str, entry: Toml) -> Joint | Element:
        where = f"joints.{name}"
        kind = entry.get("kind") if isinstance(entry, dict) else None
        known = (*_JOINTS, *_ELEMENTS)
        if not isinstance(entry, dict) or not isinstance(kind, str) or kind not in known:
            near = nearest(kind, known) if isinstance(kind, str) else None
            remedy = f"did you mean {near}" if near else f"use one of {', '.join(known)}"
            raise FileError(f"`{where}.kind` is no kind of joint", shortened(kind), remedy)
        if kind in _ELEMENTS:
            self._keys(entry, where, _ELEMENTS[kind])
            if not name.isidentifier():
                raise FileError(f"`{where}` needs an identifier as its name, such as arm_2")
            return self._element(name, kind, entry, where)
        self._keys(entry, where, (*_ENDS, *_JOINTS[kind], *_ACTING))
        options = self._named(entry, where) | self._acting(entry, where)
        if "axis" in entry:
            options["axis"] = self.values.direction(entry["axis"], f"{where}.axis")
        if kind == "screw":
            options["lead"] = self.values.scalar(entry.get("lead"), f"{where}.lead")
        if "axes" in entry:
            axes = entry["axes"]
            if not isinstance(axes, list) or len(axes) != 2:
                raise wrong(f"{where}.axes", 'two axes such as ["x", "y"]', axes)
            options["axes"] = tuple(self.values.direction(a, f"{where}.axes") for a in axes)
        make: Callable[..., Joint] = getattr(joints, kind)
        ends = (self._place(entry, role, where) for role in ("parent", "child"))
        self.found[name] = make(name, *ends, **options)
        return self.found[name]

    def _acting(self, entry: Mapping[str, Any], where: str) -> dict[str, Any]:
        """What acts along the axes of a joint."""
        read, options = self.values, {}
        for key in _ALONG:
            if key in entry:
                options[key] = read.per_axis(entry[key], f"{where}.{key}")
        if "force" in entry:
            options["force"] = self._nested(entry["force"], f"{where}.force")
        for key in (*_BEARING, "restitution"):
            if key in entry:
                options[key] = read.scalar(entry[key], f"{where}.{key}")
        if "limits" in entry:
            options["limits"] = self._limits(entry["limits"], f"{where}.limits")
        return options

    def _nested(self, value: Toml, where: str) -> Any:
        """A force, one for each axis, or three for a ball among them."""
        if not isinstance(value, list):
            return self.values.scalar(value, where)
        if len(value) > 6:
            raise wrong(where, "one force for each axis", value)
        return [
            self.values.entries(each, where, 3)
            if isinstance(each, list)
            else self.values.scalar(each, where)
            for each in value
        ]

    def _limits(self, value: Toml, where: str) -> Any:
        """A pair, or one for each axis; "" leaves a side open."""
        if not isinstance(value, list) or len(value) > 6:
            raise wrong(where, "two numbers", value)
        if any(isinstance(each, list) for each in value):
            return [None if each == [] else self._limits(each, where) for each in value]
        if len(value) != 2:
            raise wrong(where, "two numbers", value)
        return tuple(None if each == "" else self.values.scalar(each, where) for each in value)

    # -- everything else between bodies ------------------------------------------------------------

    def _element(self, name: str, kind: str, entry: Mapping[str, Any], where: str) -> Element:
        read = self.values

        def scalar(key: str, default: float | None = None) -> sympy.Expr:
            return read.scalar(entry.get(key, default), f"{where}.{key}")

        if kind == "coupling":
            return elements.coupling(name, scalar("relation"))
        if kind == "gear":
            first, second = self._pair(entry, where)
            return elements.gear(name, first, second, scalar("ratio"))
        child = self._place(entry, "child", where)
        if kind == "wrench":
            vectors = {
                key: read.vector(entry.get(key, [0, 0, 0]), f"{where}.{key}")
                for key in ("force", "torque")
            }
            follows = _flag(entry.get("follows", False), f"{where}.follows")
            return elements.wrench(name, child, **vectors, follows=follows)
        parent = self._place(entry, "parent", where)
        match kind:
            case "spring":
                stiffness, damping = scalar("stiffness"), scalar("damping", 0)
                return elements.spring(name, parent, child, stiffness, scalar("length", 0), damping)
            case "damper":
                return elements.damper(name, parent, child, scalar("damping"))
            case "distance":
                return elements.distance(name, parent, child, scalar("length"))
            case "bushing":
                six = [
                    read.entries(entry.get(key, [0] * 6), f"{where}.{key}", 6)
                    for key in ("stiffness", "damping")
                ]
                return elements.bushing(name, parent, child, *six)
            case "rolling":
                options: dict[str, Any] = {
                    key: _flag(entry[key], f"{where}.{key}")
                    for key in ("slips", "spins")
                    if key in entry
                }
                if "ground" in entry:
                    options["ground"] = read.ground(entry["ground"], f"{where}.ground")
                options |= {key: scalar(key) for key in _ROUGH if key in entry}
                surface = read.surface(entry.get("surface"), f"{where}.surface")
                return rolling.rolling(name, child, surface, parent, **options)
        make = rolling.knife_edge if kind == "knife-edge" else rolling.no_spin
        axis = {"knife-edge": "y", "no-spin": "z"}[kind]
        return make(name, child, parent, read.direction(entry.get("axis", axis), f"{where}.axis"))

    def _pair(self, entry: Mapping[str, Any], where: str) -> list[Joint]:
        names = entry.get("joints")
        if not isinstance(names, list) or len(names) != 2:
            raise wrong(f"{where}.joints", "two names of joints", names)
        for name in names:
            if not isinstance(name, str) or name not in self.found:
                what = f"`{where}.joints` names no joint before it"
                raise FileError(what, shortened(name), "name joints of one axis stated before it")
        return [self.found[name] for name in names]


def joint_starts(
    table: Mapping[str, Any],
    mechanism: Mechanism,
    statement: Literal["joint", "maximal"],
    parameters: Mapping[Any, float],
) -> dict[str, Any]:
    """A [start] whose rotations and twists of joints are values of coordinates and velocities.

    A rotation is a table as under [joints], a twist is ``{spin = [...], velocity = [...], frame =
    "body"}`` for the name of a joint with ``_dot``.
    """
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    if len(plain) == len(table):
        return plain
    read = BodyValues({symbol.name: symbol for symbol in parameters})

    def number(value: sympy.Expr) -> float:
        return float(value.xreplace(dict(parameters)))

    given: dict[Any, Any] = {}
    for key, value in table.items():
        where = f"start.{key}"
        if isinstance(value, dict) and key.endswith("_dot"):
            BodiesReader._keys(value, where, ("spin", "velocity", "frame"))
            parts = [
                [
                    number(each)
                    for each in read.vector(value.get(name, [0, 0, 0]), f"{where}.{name}")
                ]
                for name in ("spin", "velocity")
            ]
            given[key] = twist(parts[0], parts[1], value.get("frame", "body"))
        elif isinstance(value, dict):
            rows = read.rotation(value, where).rows
            given[key] = as_rotation([[number(entry) for entry in row] for row in rows])
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            given[key] = value
        elif isinstance(value, str):
            given[key] = number(read.scalar(value, where))
    return {**plain, **mechanism.start(given, statement)}


def extended_system(
    system: System,
    constraints: list[Constraint],
    forces: Mapping[str, sympy.Expr],
    inputs: Mapping[Input, sympy.Expr | None],
    outputs: Mapping[str, sympy.Expr],
) -> System:
    """A system of bodies with what else the file states about it."""
    summed = {q.name: value for q, value in system.forces.items()}
    for name, value in forces.items():
        summed[name] = summed.get(name, sympy.Integer(0)) + value
    return system.replacing(
        constraints=(*system.constraints, *constraints),
        forces=summed,
        inputs=inputs,
        outputs={**system.outputs, **outputs},
    )


def _has(mechanism: Mechanism, name: str) -> bool:
    return any(body.name == name for body in mechanism.bodies)


def _flag(value: Toml, where: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(where, "true or false", value)
    return value
