"""A mechanical system as its user states it: frozen, complete when constructed, without solvers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy

from ..errors import Faults, ModelError, raise_collected
from ..typing import BySymbol, Expression, Symbols, Values
from .atoms import leaves
from .builders.renaming import sum_of_terms
from .cache import Cache
from .constraints import Constraint, FrictionLimit, ImageConstraint, UnilateralConstraint
from .constraints.held_contacts import ContactPhase
from .constraints.shape_contacts import ShapeContacts
from .drawing import Drawing, Drawn
from .forces import SystemPart, sum_parts
from .frozen_table import FrozenTable
from .named_points import drawn_outputs, merged_outputs
from .quantities import Quantity, definitions_in
from .symbols import Coordinate, Input, Momentum, Parameter, Speed, Velocity, by_name, name_of
from .system_checks import check_bundle, check_energies, check_kinds, check_names, check_roles
from .system_reader import Reader

if TYPE_CHECKING:
    from ..analysis.overview.description import Description
    from .bodies.body_tree import BodyTree
    from .builders.repeat import Repetition

__all__ = ["System"]

ZERO = sympy.Integer(0)
#: So many modes of contact are kept with a system.
MOST_MODES = 64


@dataclass(frozen=True, init=False)
class System:
    """Coordinates, energies, constraints, forces and inputs of a mechanical system.

    Systems are equal, and have one hash, where they state the same; their drawings do not count.
    They can be pickled.

    Exactly one of three descriptions of the energies is given: `lagrangian`, or `kinetic` with
    `potential`, or `hamiltonian`; `parts` add to `kinetic` and `potential`.

    Parameters
    ----------
    coordinates : sequence of Coordinate, or of SymPy dynamic symbols q(t)
    lagrangian, kinetic, potential, hamiltonian : expressions
        L(q, q_dot, t); T(q, q_dot, t) and V(q, t); H(q, p, t).
    constraints : sequence of constraints, see `holonomic`, `velocity`, `momentum`, `image`,
    `unilateral` forces : mapping of coordinate to expression
        Generalised forces Q(q, q_dot, t, inputs).
    dissipation : expression
        Rayleigh's function R; the force is -dR/dq_dot.
    inputs : sequence of Input, or mapping of Input to an expression of time and state
    outputs : mapping of name to expression
        Further quantities that every motion reports, besides the positions of parts and drawn
        points that have a name. A start may give those that depend on velocities in place of these.
    parts : sequence of SystemPart
        Bodies, springs and forces made with `particle`, `body`, `spring`, ...
    bundle : mapping of Speed to expression
        Fibre velocities v = sigma(q) q_dot (Moreau and van der Schaft 19). The Lagrangian, or the
        kinetic energy, is then written in v; `lagrangian` is what it becomes in q_dot, and may be
        singular where it is regular in v.
    quasi_velocities : mapping of name to expression of q, q_dot and t
        Free quasi-velocities, as many as degrees of freedom: the forms in speeds are written in
        them, and they are outputs of every other form. A start may name them.
    home : mapping of coordinate to number
        Values that a start which does not give them begins with, instead of 0: a quaternion is 1 at
        home, say.
    name : str
    drawing : Drawing, or shapes of `dalembert.draw`
        How the system looks, for animations.

    Raises
    ------
    ModelError
        With every fault of the input in one message.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> oscillator = da.System(coordinates=[x], kinetic=m/2*x.dot**2, potential=k/2*x**2)
    >>> [str(parameter) for parameter in oscillator.parameters]
    ['k', 'm']
    """

    coordinates: tuple[Coordinate, ...]
    lagrangian: sympy.Expr | None
    hamiltonian: sympy.Expr | None
    constraints: tuple[Constraint, ...]
    forces: Mapping[Coordinate, sympy.Expr]
    dissipation: sympy.Expr
    inputs: Mapping[Input, sympy.Expr | None]
    outputs: Mapping[str, sympy.Expr]
    name: str
    kinetic: sympy.Expr | None = field(repr=False)
    potential: sympy.Expr | None = field(repr=False)
    bundle: Mapping[Speed, sympy.Expr] = field(repr=False)
    bundle_lagrangian: sympy.Expr | None = field(repr=False)
    quasi_velocities: Mapping[str, sympy.Expr] = field(default_factory=FrozenTable, repr=False)
    drawing: Drawing | None = field(default=None, repr=False, compare=False)
    home: Mapping[Coordinate, float] = field(default_factory=FrozenTable, repr=False, compare=False)
    #: What the equal parts of a system that `repeat` stated have in common.
    repetition: Repetition | None = field(default=None, init=False, repr=False, compare=False)
    #: The tree of bodies whose energies are in the Lagrangian, of a system that a mechanism made.
    body_tree: BodyTree | None = field(default=None, init=False, repr=False, compare=False)
    #: The SymPy symbols behind the names of a system that `from_sympy` made: a `SympyNames`.
    sympy_names: Any = field(default=None, init=False, repr=False, compare=False)
    #: Equations, constraint Jacobians and other results that are computed once from the system.
    cache: Cache = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        coordinates: Symbols,
        *,
        lagrangian: Expression | None = None,
        kinetic: Expression | None = None,
        potential: Expression | None = None,
        hamiltonian: Expression | None = None,
        constraints: Sequence[Constraint] = (),
        forces: Values | None = None,
        dissipation: Expression = 0,
        inputs: BySymbol[Expression | None] | Sequence[Input] = (),
        outputs: Values | None = None,
        parts: Sequence[SystemPart] = (),
        bundle: Values | None = None,
        quasi_velocities: Values | None = None,
        home: Values | None = None,
        name: str = "system",
        drawing: Drawn | None = None,
    ) -> None:
        faults = Faults()
        if isinstance(coordinates, sympy.Basic):
            coordinates = (coordinates,)
        reader = Reader(coordinates, faults)
        from_parts = sum_parts(parts)
        if parts:
            kinetic = from_parts.kinetic + (0 if kinetic is None else kinetic)
            potential = from_parts.potential + (0 if potential is None else potential)
        check_energies(lagrangian, kinetic, potential, hamiltonian, faults)
        energies = _energies(reader, lagrangian, kinetic, potential, hamiltonian, bundle, faults)
        generalised = _generalised_forces(reader, _once(forces, "forces"), from_parts.forces)
        table_of_inputs = inputs if isinstance(inputs, Mapping) else dict.fromkeys(_listed(inputs))
        check_kinds(table_of_inputs, outputs, faults)
        drawn = reader.drawing(drawing)
        points = {**from_parts.outputs, **drawn_outputs(drawn)}
        speeds = {
            name_of(key): reader.expression(value, f"quasi-velocity `{name_of(key)}`")
            for key, value in (quasi_velocities or {}).items()
        }
        reported = merged_outputs(merged_outputs(outputs, points, faults), speeds, faults)
        drives = {
            symbol: None if value is None else reader.expression(value, f"input `{symbol}`")
            for symbol, value in table_of_inputs.items()
        }
        values = {
            "coordinates": reader.coordinates,
            **energies,
            "constraints": tuple(
                reader.constraint(c, k) for k, c in enumerate(_constraints(constraints), start=1)
            ),
            "forces": generalised,
            "dissipation": reader.expression(from_parts.dissipation + dissipation, "dissipation"),
            "inputs": FrozenTable(drives),
            "outputs": FrozenTable(
                {k: reader.expression(v, f"output `{k}`") for k, v in reported.items()}
            ),
            "quasi_velocities": FrozenTable(speeds),
            "name": str(name),
            "drawing": drawn,
            "home": FrozenTable(
                {
                    q: float(value)
                    for key, value in _once(home, "values at home").items()
                    if (q := reader.coordinate(key, "values at home")) is not None
                }
            ),
        }
        self._set(values)
        if not faults:
            check_roles(self, faults)
            check_names(self, faults)
        raise_collected(faults)

    @classmethod
    def of_checked(cls, values: Mapping[str, Any]) -> System:
        """A system from its attributes, which somebody else has checked."""
        system = object.__new__(cls)
        system._set(values)
        return system

    def _set(self, values: Mapping[str, Any]) -> None:
        for table in ("home", "quasi_velocities"):
            object.__setattr__(self, table, FrozenTable({}))
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)
        object.__setattr__(self, "cache", Cache("results of a system"))

    # -- copies ------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """What was stated; everything else follows from it."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state)

    def __copy__(self) -> System:
        return self

    def __deepcopy__(self, _: object) -> System:
        return self

    # -- what the symbols are ----------------------------------------------------------------------

    @cached_property
    def velocities(self) -> tuple[Velocity, ...]:
        """q_dot for every coordinate."""
        return tuple(q.dot for q in self.coordinates)

    @cached_property
    def momenta(self) -> tuple[Momentum, ...]:
        """p for every coordinate."""
        return tuple(q.momentum for q in self.coordinates)

    @property
    def is_hamiltonian(self) -> bool:
        """Whether the system was stated by its Hamiltonian."""
        return self.hamiltonian is not None

    @property
    def energy_function(self) -> sympy.Expr:
        """The expression the system was stated by: L, or H."""
        expression = self.hamiltonian if self.hamiltonian is not None else self.lagrangian
        assert expression is not None
        return expression

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter that occurs anywhere in the system or its drawing, by name."""
        found = {
            symbol
            for expression in self.expressions()
            for symbol in leaves(expression)
            if isinstance(symbol, Parameter)
        }
        found |= set() if self.drawing is None else self.drawing.parameters
        return tuple(sorted(found, key=lambda symbol: symbol.name))

    @cached_property
    def definitions(self) -> tuple[Quantity, ...]:
        """The named quantities that the expressions share, each after those that it contains."""
        return tuple(definitions_in(self.expressions()))

    @cached_property
    def bilateral(self) -> tuple[Constraint, ...]:
        """The two-sided constraints that give rows: all but image and one-sided ones."""
        return tuple(c for c in self.constraints if c.gives_row)

    @cached_property
    def unilateral(self) -> tuple[UnilateralConstraint | FrictionLimit, ...]:
        """The constraints that open, stick or slip along a motion: one-sided, and with a limit."""
        kinds = (UnilateralConstraint, FrictionLimit)
        return tuple(c for c in self.constraints if isinstance(c, kinds))

    @cached_property
    def shape_contacts(self) -> tuple[ShapeContacts, ...]:
        """Contacts between solids that are found in numbers."""
        return tuple(c for c in self.constraints if isinstance(c, ShapeContacts))

    @property
    def image(self) -> ImageConstraint | None:
        """The image representation of the velocities, where there is one."""
        return next((c for c in self.constraints if isinstance(c, ImageConstraint)), None)

    def expressions(self) -> Iterable[sympy.Expr]:
        """Every expression of the system."""
        yield self.energy_function
        yield from self.bundle.values()
        yield self.dissipation
        yield from self.forces.values()
        yield from self.outputs.values()
        yield from (value for value in self.inputs.values() if value is not None)
        for constraint in self.constraints:
            yield from constraint.expressions()

    def with_body_tree(self, tree: BodyTree) -> System:
        """The same system, with the tree of bodies behind its Lagrangian."""
        return System.of_checked(self.__getstate__() | {"body_tree": tree})

    def with_sympy_names(self, names: Any) -> System:
        """The same system, with the SymPy symbols behind its names."""
        return System.of_checked(self.__getstate__() | {"sympy_names": names})

    # -- systems from systems ----------------------------------------------------------------------

    def replacing(self, **changes: Any) -> System:
        """The same system with some of its attributes replaced, checked again."""
        current: dict[str, Any] = {
            "constraints": self.constraints,
            "forces": self.forces,
            "dissipation": self.dissipation,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "quasi_velocities": self.quasi_velocities,
            "name": self.name,
            "home": {
                q: value
                for q, value in self.home.items()
                if q in changes.get("coordinates", self.coordinates)
            },
            "drawing": (
                self.drawing
                if set(changes.get("coordinates", self.coordinates)) >= set(self.coordinates)
                else None
            ),
        }
        if self.bundle:
            current |= {"lagrangian": self.bundle_lagrangian, "bundle": self.bundle}
        elif self.hamiltonian is not None:
            current["hamiltonian"] = self.hamiltonian
        elif self.kinetic is not None:
            current |= {"kinetic": self.kinetic, "potential": self.potential}
        else:
            current["lagrangian"] = self.lagrangian
        return System(changes.pop("coordinates", self.coordinates), **(current | changes))

    def driven(self, inputs: Mapping[Any, Any]) -> System:
        """The same system with inputs imposed as expressions of time and state."""
        table: dict[Any, Any] = dict(self.inputs)
        own = {symbol.name: symbol for symbol in self.inputs}
        for key, value in by_name(inputs, "mapping of inputs").items():
            symbol = own.get(key)
            if symbol is None:
                raise ModelError(
                    f"The system has no input `{key}`",
                    seen=", ".join(own) or "no inputs",
                    remedy="name one of its own",
                )
            table[symbol] = value
        return self.replacing(inputs=table)

    def touching(self, mode: Sequence[str]) -> System:
        """The same system with only the contacts of a mode, held as two-sided constraints.

        An entry of a mode is the name of a contact, which is then without friction, or the label of
        a `ContactPhase`: "floor sticks", "floor slips+1".
        """
        modes: Cache = self.cache.get("modes", lambda: Cache("modes of contact", MOST_MODES))
        return modes.get(tuple(mode), lambda: self._held(mode))

    def _held(self, mode: Sequence[str]) -> System:
        kept: list[Constraint] = []
        for c in self.constraints:
            if not isinstance(c, (UnilateralConstraint, FrictionLimit)):
                kept.append(c)
                continue
            for label in mode:
                phase = ContactPhase.of(label, c.name)
                kept += c.held(phase) if phase is not None else ()
        return self.replacing(constraints=kept)

    def describe(
        self, parameters: Values | None = None, start: Values | None = None
    ) -> Description:
        """What kind of system this is; see `dalembert.analysis.overview.description.describe`."""
        from ..analysis.overview.description import describe

        return describe(self, parameters, start)

    def __repr__(self) -> str:
        from .statement_text import system_text

        return system_text(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What notebooks show."""
        from ..plotting.reports.display import system_bundle

        return system_bundle(self)

    def _repr_html_(self) -> str | None:
        return self._repr_mimebundle_().get("text/html")

    def _repr_latex_(self) -> str | None:
        return self._repr_mimebundle_().get("text/latex")


def _energies(
    reader: Reader,
    lagrangian: Expression | None,
    kinetic: Expression | None,
    potential: Expression | None,
    hamiltonian: Expression | None,
    bundle: Values | None,
    faults: Faults,
) -> dict[str, Any]:
    """The energies in the velocities, and the fibre velocities that they are stated in."""

    def read(given: Expression | None, name: str) -> sympy.Expr | None:
        return None if given is None else reader.expression(given, name)

    motive = read(kinetic, "kinetic")
    if kinetic is None:
        potential = None
    elif potential is None:
        potential = 0
    stored = read(potential, "potential")
    direct, canonical = read(lagrangian, "lagrangian"), read(hamiltonian, "hamiltonian")
    if direct is None and motive is not None and stored is not None:
        is_long = _is_long(motive, stored)
        direct = sum_of_terms([(motive, 1), (stored, -1)]) if is_long else motive - stored
    fibre = {
        symbol: reader.expression(value, f"fibre velocity `{symbol}`")
        for symbol, value in (bundle or {}).items()
    }
    if fibre:
        check_bundle(fibre, [e for e in (motive, direct) if e is not None], faults)
    return {
        "lagrangian": None if direct is None else direct.xreplace(fibre),
        "kinetic": None if motive is None else motive.xreplace(fibre),
        "potential": stored,
        "hamiltonian": canonical,
        "bundle": FrozenTable(fibre),
        "bundle_lagrangian": direct if fibre else None,
    }


def _generalised_forces(
    reader: Reader, stated: Values, from_parts: Values
) -> FrozenTable[Coordinate, sympy.Expr]:
    """The sum of the forces on each coordinate that has one."""
    found = dict.fromkeys(reader.coordinates, ZERO)
    for where, table in (("forces", stated), ("parts", from_parts)):
        for key, value in table.items():
            q = reader.coordinate(key, where)
            if q is not None:
                found[q] += reader.expression(value, f"force on {q}")
    return FrozenTable({q: value for q, value in found.items() if value != 0})


def _is_long(*expressions: sympy.Expr) -> bool:
    """Whether there are so many terms that their order matters for the time that a sum takes."""
    return sum(len(sympy.Add.make_args(expression)) for expression in expressions) > 100


def _once(forces: Values | None, what: str) -> dict[Any, Any]:
    """A table by coordinate, in which a symbol and its name do not both stand."""
    if not isinstance(forces or {}, Mapping):
        raise ModelError(
            f"The {what} are given by coordinate",
            seen=type(forces).__name__,
            remedy="pass a mapping {x: force}",
        )
    keys = {name_of(key): key for key in forces or {}}
    return {
        keys[name]: value for name, value in by_name(forces or {}, f"mapping of {what}").items()
    }


def _constraints(given: Sequence[Constraint]) -> Sequence[Any]:
    return (given,) if isinstance(given, Constraint) else given


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, sympy.Basic) else list(value)
