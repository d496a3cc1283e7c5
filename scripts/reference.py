"""The reference of the library, from its docstrings: docs/generated/reference/, one page for each
part.

Which page a public name is on follows from the module that holds it, so that a new name finds its
place by itself. Results that are not public by name (what `fit` returns, say) stand below the
function that gives them.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docstring_markdown import markdown_of, summary_of

import dalembert as da

__all__ = ["PARTS", "Part", "Reference", "write_reference"]


@dataclass(frozen=True)
class Part:
    """A page: its title, what it is about, the modules whose names it holds, and the names that
    come first.
    """

    slug: str
    title: str
    about: str
    homes: tuple[str, ...]
    first: tuple[str, ...] = ()


#: The longest prefix of a module's name decides.
PARTS = (
    Part(
        "model", "The model", "What a system is made of, how it is read and written. Guide: "
        "[A first model](../../first-model.md), [The model file](../../model-file.md), "
        "[Large systems](../../large-systems.md).",
        ("model", "formulations.from_sympy"),
        ("System", "Scenario", "coordinates", "parameters", "inputs", "speeds", "t", "Flow",
         "Action"),
    ),
    Part(
        "bodies", "Bodies", "Mechanisms of bodies and joints. Guide: [Bodies](../../bodies.md).",
        ("model.bodies", "bodies"), ("Mechanism", "Body", "revolute"),
    ),
    Part(
        "constraints", "Constraints and forces",
        "What a motion must obey, and what pushes it. Guide: "
        "[Constraints](../../constraints.md).", ("model.constraints", "model.forces"),
        ("holonomic", "velocity", "momentum", "image", "unilateral"),
    ),
    Part("drawing", "Drawing", "How a system looks: shapes at positions that are expressions.",
         ("model.draw",)),
    Part(
        "formulations", "Formulations",
        "From a system to its equations. Guide: [Forms of the equations](../../forms.md).",
        ("formulations", "analysis.overview.comparison", "analysis.overview.description"),
        ("derive", "forms", "Equations"),
    ),
    Part(
        "simulation", "Simulation",
        "From equations to a motion. Guide: [Simulation](../../simulation.md), "
        "[Methods of integration](../../methods.md), [Results](../../results.md).", ("integrate",),
        ("simulate", "Motion"),
    ),
    Part(
        "many-runs", "Many runs",
        "One system, many parameters and starts. Guide: [Many runs](../../sweeps.md).",
        ("integrate.ensemble",), ("sweep", "Ensemble"),
    ),
    Part(
        "sensitivities", "Sensitivities", "Derivatives of motions, exponents and fits. Guide: "
        "[Derivatives, exponents and fits](../../sensitivities.md).", ("analysis.sensitivity",),
        ("sensitivities", "gradient"),
    ),
    Part(
        "analysis", "Analysis", "Equilibria and stability, principles, structures and integrals.",
        ("analysis",), ("equilibria", "linearise", "linear_matrices", "stability", "floquet"),
    ),
    Part(
        "symmetry", "Symmetry and reduction",
        "Groups that a system does not notice, and what they leave. Guide: "
        "[Symmetry](../../symmetry.md), [The snakeboard](../../snakeboard.md), "
        "[Routh](../../routh.md).",
        (
            "formulations.reduction", "analysis.symmetry", "analysis.stability.energy_momentum",
            "analysis.stability.energy_casimir",
        ),
        ("discover_symmetries", "invariance", "reduce", "reconstruct", "routh"),
    ),
    Part(
        "geometry", "Geometry",
        "Lie groups and their actions, Dirac and Poisson structures, flows of matrices. Guide: "
        "[Rigid bodies and flows of matrices](../../lie-groups.md), [Dirac "
        "structures](../../dirac.md).",
        (
            "geometry", "model.builders.bracket_flows", "model.builders.symmetric_spaces",
            "model.builders.rigid_bodies",
            "model.builders.brockett_form", "analysis.symmetry.dirac_structures",
            "analysis.symmetry.restricted_two_form",
            "analysis.closed_forms.free_body", "integrate.methods.groups.discrete_body",
        ),
        ("LieGroup", "GroupAction", "DiracStructure", "PoissonStructure"),
    ),
    Part(
        "control", "Control",
        "Controllers that turn a system into another one. Guide: [Poles and controlled "
        "Lagrangians](../../matching.md), [Servo constraints](../../servo.md), [Optimal "
        "control](../../optimal-control.md), "
        "[Controllability and loops](../../holonomy-control.md), [Ports](../../ports.md).",
        ("control",),
        ("feedback", "place_poles", "lqr", "servo"),
    ),
    Part(
        "pictures", "Pictures",
        "Plots, portraits, sections and animations. Guide: [Pictures](../../pictures.md).",
        ("plotting",),
    ),
    Part("gallery", "Gallery",
         "Systems that are ready to run; [their page](../gallery.md) shows them all.",
         ("gallery",)),
    Part("errors", "Errors", "What can go wrong, as one tree of exceptions.", ("errors",)),
    Part("typing", "Types", "What signatures are written in, for annotations and type checkers.",
         ("typing",)),
    Part("export", "Export", "Equations of motion for other programs.", ("export",)),
)  # fmt: skip

#: Classes that the library fills and nobody constructs by hand: their calls are not shown.
FILLED = ("Motion", "Ensemble", "Equations", "LieGroup", "Outcome")
#: Public names that are modules: their own names are part of the reference.
MODULES = ("draw", "errors", "gallery", "plotting", "typing")
#: Namespaces: each of their names has a section of its own, unless it stands at the top as well.
SPACES = ("analysis", "bodies", "control", "dirac", "lie", "symmetry", "variational")


def public_names() -> dict[str, str]:
    """Every public name with where it stands: nothing for the top, or a namespace.

    >>> public_names()["simulate"], public_names()["reduce"]
    ('', 'symmetry')
    """
    found = {name: "" for name in da.__all__ if name not in (*SPACES, "__version__")}
    for space in SPACES:
        found |= {name: space for name in getattr(da, space).__all__ if name not in found}
    return found


#: Read once; the library is imported where a name is used.
PUBLIC = public_names()


def value_of(name: str) -> Any:
    """What a public name stands for."""
    return getattr(getattr(da, PUBLIC[name]), name) if PUBLIC[name] else getattr(da, name)


def home_of(name: str) -> str:
    """The module that holds a public name, inside the library.

    >>> home_of("simulate"), home_of("draw"), home_of("t")
    ('integrate.simulate', 'model.draw', 'model.symbols')
    """
    value = value_of(name)
    held = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", "")
    return held.removeprefix("dalembert.") if held.startswith("dalembert.") else "model.symbols"


def part_of(home: str) -> Part:
    """The page of what a module holds.

    >>> part_of("model.constraints").slug, part_of("model.system").slug
    ('constraints', 'model')
    """
    fits = [
        (len(prefix), part)
        for part in PARTS
        for prefix in part.homes
        if f"{home}.".startswith(f"{prefix}.")
    ]
    if not fits:
        raise LookupError(
            f"no part of the reference holds the module {home}: name it in PARTS of"
            " scripts/reference.py"
        )
    return max(fits, key=lambda fit: fit[0])[1]


@dataclass
class Reference:
    """Every page as it is put together; `places` knows where a name is explained."""

    places: dict[str, str] = field(default_factory=dict)
    results: dict[str, list[type]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part, names in self.parts().items():
            for name in names:
                self._place(part, name, value_of(name))
        for part, names in self.parts().items():
            for name in names:
                found = [
                    kind
                    for kind in result_types(value_of(name))
                    if kind.__name__ not in self.places
                ]
                for kind in found:
                    self._place(part, kind.__name__, kind)
                self.results[name] = found

    def parts(self) -> dict[Part, list[str]]:
        """The public names of each part, in the order in which they stand."""
        found: dict[Part, list[str]] = {part: [] for part in PARTS}
        for name in PUBLIC:
            found[part_of(home_of(name))].append(name)
        for part, names in found.items():
            names.sort(
                key=lambda name: (
                    part.first.index(name) if name in part.first else len(part.first),
                    name.lower(),
                )
            )
        return {part: names for part, names in found.items() if names}

    def _place(self, part: Part, name: str, value: Any) -> None:
        self.places[name] = f"{part.slug}.md#{name}"
        for member, _ in members_of(name, value):
            self.places[member] = f"{part.slug}.md#{member}"

    def link(self, name: str) -> str | None:
        """A link to where a name in a docstring is explained, if the reference has it."""
        ways = (
            name,
            name.removeprefix("da."),
            name.removeprefix("dalembert."),
            f"errors.{name}",
            f"plotting.{name}",
        )
        ways += tuple(name.removeprefix(f"da.{space}.") for space in SPACES)
        known = next((way for way in ways if way in self.places), "")
        return f"[`{name}`]({self.places[known]})" if known else None

    def page(self, part: Part, names: Iterable[str]) -> str:
        """The Markdown of one part."""
        told: set[str] = set()
        sections = [f"# {part.title}\n", f"{part.about}\n"]
        for name in names:
            value, space = value_of(name), PUBLIC[name]
            sections.append(
                self.section("##", name, value, prefix=f"da.{space}." if space else "da.")
            )
            sections += [self.section("###", kind.__name__, kind) for kind in self.results[name]]
            sections.append(self.theory(value, told))
        return "\n".join(section for section in sections if section)

    def section(self, level: str, name: str, value: Any, prefix: str = "") -> str:
        """A name with its signature, its docstring and its members."""
        lines = [f"{level} {name} {{#{name}}}\n"]
        if callable(value) and prefix and name not in FILLED:
            lines.append(f"```python\n{prefix}{signature_text(name, value)}\n```\n")
        lines.append(self.told(value))
        for member, inner in members_of(name, value):
            lines.append(self.member(f"{level}#", member, inner))
        return "\n".join(lines)

    def member(self, level: str, name: str, value: Any) -> str:
        """A method, property or function of a module."""
        function = value.func if hasattr(value, "func") and hasattr(value, "attrname") else value
        function = (
            function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
        )
        lines = [f"{level} {name} {{#{name}}}\n"]
        if isinstance(function, types.FunctionType) and function is not getattr(
            value, "func", None
        ):
            lines.append(f"```python\n{signature_text(name, function, is_method(name))}\n```\n")
        return "\n".join([*lines, self.told(value, function)])

    def told(self, value: Any, function: Any = None) -> str:
        """The docstring of a value; its own arguments are no links, also where they are called like
        a public name.
        """
        own = set(arguments_of(function or value))
        text = own_docstring(value)
        return (
            markdown_of(text, lambda name: None if name in own else self.link(name)) + "\n"
            if text
            else ""
        )

    def theory(self, value: Any, told: set[str]) -> str:
        """What the module of a name says before its code, folded, once on a page."""
        home = getattr(value, "__module__", None) if not inspect.ismodule(value) else None
        if home is None or home in told or not home.startswith("dalembert"):
            return ""
        told.add(home)
        text = inspect.cleandoc(importlib.import_module(home).__doc__ or "")
        if "\n\n" not in text:
            return f"<small>`{home}`</small>\n"
        body = re.sub(r"^(?=.)", "    ", markdown_of(text, self.link), flags=re.MULTILINE)
        return f'??? quote "Background: {home}"\n\n{body}\n'

    def index(self) -> str:
        """All names on one page, with a sentence each."""
        lines = [
            "# Reference\n",
            (
                "Every public name, as its docstring says it; the examples are run by the tests."
                " `import dalembert as da` is understood. [The command line](../../command-line.md)"
                " and [the model file](../../model-file.md) have pages of their own.\n"
            ),
        ]
        for part, names in self.parts().items():
            lines += [f"## [{part.title}]({part.slug}.md)\n", "| name | |", "| --- | --- |"]
            for name in names:
                said = summary_of(own_docstring(value_of(name)), lambda name: None).replace(
                    "|", "\\|"
                )
                path = f"{PUBLIC[name]}.{name}" if PUBLIC[name] else name
                lines.append(f"| [`{path}`]({self.places[name]}) | {said} |")
            lines.append("")
        return "\n".join(lines)


def own_docstring(value: Any) -> str:
    """The docstring that was written for this value."""
    if value is da.t:
        return "Time, the symbol that energies, constraints, inputs and drawings may contain."
    text = getattr(value, "__doc__", None) or ""
    return inspect.cleandoc(text)


def arguments_of(value: Any) -> Iterable[str]:
    try:
        return inspect.signature(value).parameters if callable(value) else ()
    except ValueError:
        return ()


def is_method(name: str) -> bool:
    return name.split(".")[0] not in MODULES


def members_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The documented members of a class, with inherited ones where it is public by name; the names
    of a public module.
    """
    if inspect.ismodule(value):
        for inner in getattr(value, "__all__", ()):
            if own_docstring(getattr(value, inner)) and not inner.isupper():
                yield f"{name}.{inner}", getattr(value, inner)
    elif inspect.isclass(value):
        seen: set[str] = set()
        for kind in value.__mro__ if name in PUBLIC else (value,):
            if not kind.__module__.startswith("dalembert") or kind.__name__.startswith("_"):
                continue
            for inner, member in vars(kind).items():
                described = getattr(member, "__func__", member)
                own = isinstance(described, (types.FunctionType, property)) or hasattr(
                    described, "attrname"
                )
                if (
                    own
                    and not inner.startswith("_")
                    and inner not in seen
                    and own_docstring(described)
                ):
                    seen.add(inner)
                    yield f"{name}.{inner}", member


def signature_text(name: str, value: Any, method: bool = False) -> str:
    """A call as it is written, over several lines where it is long; types are told in words below
    it.

    >>> signature_text("parse", da.parse).startswith("parse(text")
    True
    """
    try:
        signature = inspect.signature(value)
    except ValueError:
        return f"{name}(...)"
    listed = list(signature.parameters.values())
    if method and listed and listed[0].name in ("self", "cls"):
        listed = listed[1:]
    plain = signature.replace(
        parameters=[each.replace(annotation=inspect.Parameter.empty) for each in listed]
    )
    gives = plain.return_annotation
    plain = plain.replace(return_annotation=inspect.Signature.empty)
    arrow = (
        f" -> {gives}".replace("'", "")
        if isinstance(gives, str) and gives not in ("None", "Any")
        else ""
    )
    text = re.sub(r" at 0x[0-9a-f]+", "", str(plain))
    if len(name) + len(text) + len(arrow) <= 86:
        return f"{name}{text}{arrow}"
    words = re.sub(r"<factory>", "...", text[1:-1])
    lines = [""]
    for argument in split_arguments(words):
        longer = f"{lines[-1]} {argument},".strip()
        lines = [*lines[:-1], longer] if len(longer) <= 80 else [*lines, f"{argument},"]
    return f"{name}(\n    " + "\n    ".join(lines) + f"\n){arrow}"


def split_arguments(text: str) -> list[str]:
    """Arguments of a call: commas inside brackets and quotes do not count; a bare star stays with
    what follows.
    """
    found, depth, start = [], 0, 0
    for place, symbol in enumerate(text):
        depth += (symbol in "([{") - (symbol in ")]}")
        if symbol == "," and depth == 0:
            found.append(text[start:place].strip())
            start = place + 1
    return [*found, text[start:].strip()]


def result_types(value: Any) -> list[type]:
    """The classes of the library that a function says it returns and that are not public by
    name.
    """
    if not isinstance(value, types.FunctionType):
        return []
    said = value.__annotations__.get("return", "")
    names = re.findall(r"[A-Z]\w+", said) if isinstance(said, str) else []
    found = [value.__globals__.get(name) for name in names if name not in PUBLIC]
    return [
        kind for kind in found if inspect.isclass(kind) and kind.__module__.startswith("dalembert")
    ]


def write_reference(folder: Path) -> None:
    """All pages."""
    folder.mkdir(parents=True, exist_ok=True)
    reference = Reference()
    for part, names in reference.parts().items():
        (folder / f"{part.slug}.md").write_text(reference.page(part, names), encoding="utf-8")
    (folder / "index.md").write_text(reference.index(), encoding="utf-8")
