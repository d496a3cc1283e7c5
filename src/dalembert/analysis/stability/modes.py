r"""Normal modes of a linearised motion: frequencies, damping ratios and shapes.

An eigenvalue lambda of w_dot = A w with its vector v is the motion w = Re(v exp(lambda t)). Its
frequency is |lambda|, its damping ratio -Re(lambda)/|lambda|, and its shape the deviation of the
coordinates, scaled so that the largest one is 1 at t = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from ...errors import ModelError
from ...typing import Array, ComplexArray, Values
from ..tables import Report, Section

if TYPE_CHECKING:
    from os import PathLike

    from ...integrate.motion import Motion
    from ...model.scenario import Scenario
    from ...model.system import System
    from ...plotting.style import Picture
    from .linearisation import Linearisation

__all__ = ["Modes", "modes_of"]

#: Parts of a shape that are smaller than this are not shown.
SHOWN = 1e-6


@dataclass(frozen=True, repr=False)
class Modes(Report):
    """Modes of a linearised motion with n state variables, k of them, slowest first.

    Attributes
    ----------
    eigenvalues : array of complex (k,)
        One of each conjugate pair.
    shapes : array of complex (n, k)
        Deviations of the state.
    symbols : tuple of str (n,)
        The variables of the state.
    shown : tuple of str
        Those that a table lists: the coordinates.
    point : array (n,)
    """

    eigenvalues: ComplexArray
    shapes: ComplexArray
    symbols: tuple[str, ...]
    shown: tuple[str, ...]
    point: Array

    @property
    def frequencies(self) -> Array:
        """|lambda| in radians per unit of time; zero for motions that do not oscillate, (k,)."""
        return np.where(self.eigenvalues.imag != 0, np.abs(self.eigenvalues), 0.0)

    @property
    def damping_ratios(self) -> Array:
        """-Re(lambda)/|lambda|, (k,); zero where lambda is."""
        sizes = np.abs(self.eigenvalues)
        return np.where(
            sizes > 0, -self.eigenvalues.real / np.where(sizes > 0, sizes, 1.0) + 0.0, 0.0
        )

    def table(self) -> str:
        """The modes as lines of text."""
        headings = ["mode", "frequency", "damping ratio", "growth rate", "shape"]
        rows = [headings]
        for k, value in enumerate(self.eigenvalues):
            numbers = (self.frequencies[k], self.damping_ratios[k], value.real)
            rows.append(
                [str(k + 1), *(f"{number + 0.0:.6g}" for number in numbers), self._shape(k)]
            )
        widths = [max(len(row[j]) for row in rows) for j in range(4)]
        lines = (
            "  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[4]])
            for row in rows
        )
        return "\n".join(lines)

    def _shape(self, k: int) -> str:
        parts = []
        for name, value in zip(self.symbols, self.shapes[:, k], strict=True):
            if name in self.shown and abs(value) > SHOWN:
                phase = f" at {np.degrees(np.angle(value)):.3g} deg"
                real = abs(value.imag) <= SHOWN
                parts.append(
                    f"{name} = {value.real if real else abs(value):.4g}{'' if real else phase}"
                )
        return ", ".join(parts)

    def _title(self) -> str:
        return "Normal modes"

    def _sections(self) -> list[Section]:
        lines = self.table().splitlines()
        return [(lines[0], [(line, "") for line in lines[1:]])]

    def text(self) -> str:
        """The table under its title."""
        return f"Normal modes\n\n{self.table()}"

    def start(self, mode: int, amplitude: float = 0.1) -> dict[str, float]:
        """The state that begins mode 1, 2, ... with the given largest deviation.

        >>> import dalembert as da
        >>> x = da.coordinates("x")
        >>> spring = da.System([x], kinetic=x.dot**2/2, potential=2*x**2)
        >>> da.linearise(spring).modes().start(1, amplitude=0.5)
        {'x': 0.5, 'x_dot': 0.0}
        """
        if not 1 <= mode <= len(self.eigenvalues):
            raise ModelError(
                f"There is no mode {mode}",
                seen=f"{len(self.eigenvalues)} modes",
                remedy="count them from 1",
            )
        state = self.point + amplitude * self.shapes[:, mode - 1].real
        return dict(zip(self.symbols, map(float, state), strict=True))

    def motion(
        self,
        model: System | Scenario,
        mode: int,
        amplitude: float = 0.1,
        periods: float = 2.0,
        parameters: Values | None = None,
    ) -> Motion:
        """The motion of the model, not linearised, that begins in a mode; it can be animated.

        Parameters
        ----------
        model : System or Scenario
            What was linearised; a scenario has a drawing.
        mode : int
            Its number in the table, from 1.
        amplitude : float
            The largest deviation of a coordinate at the start.
        periods : float
            The length of the motion, in periods or time constants of the mode.
        """
        from ...integrate.simulate import simulate

        start = self.start(mode, amplitude)
        value = self.eigenvalues[mode - 1]
        rate = abs(value.imag) / (2 * np.pi) if value.imag else abs(value.real)
        if not rate:
            raise ModelError(
                f"Mode {mode} has no period",
                seen="the eigenvalue 0",
                remedy="choose a mode that changes in time",
            )
        return simulate(model, start, (0.0, float(periods / rate)), parameters=parameters)

    def plot(self, *, path: str | PathLike[str] | None = None, style: str = "light") -> Picture:
        """Draw the shapes as bars, one panel for each mode; see `plotting.studies.mode_plot`."""
        from ...plotting.studies.mode_plot import plot_modes

        return plot_modes(self, path=path, style=style)


def modes_of(linear: Linearisation) -> Modes:
    """The modes of a linearisation, slowest first; those that do not oscillate come last."""
    values, vectors = scipy.linalg.eig(linear.matrix) if linear.matrix.size else ([], [[]])
    values = np.asarray(values, complex)
    size = float(np.max(np.abs(values), initial=0.0))
    values = np.where(np.abs(values.imag) <= 1e-12 * size, values.real + 0j, values)
    values = np.where(np.abs(values.real) <= 1e-12 * size, 1j * values.imag, values)
    kept = [k for k, value in enumerate(values) if value.imag >= 0]
    kept.sort(key=lambda k: (values[k].imag == 0, abs(values[k]), -values[k].real))
    shapes = linear.basis @ np.asarray(vectors)[:, kept] if kept else np.zeros((0, 0), complex)
    coordinates = _coordinates(linear.symbols)
    places = [k for k, name in enumerate(linear.symbols) if name in coordinates]
    columns = []
    for column in shapes.T:
        largest = int(np.argmax(np.abs(column[places]))) if places else 0
        pivot = column[places[largest]] if places else column[np.argmax(np.abs(column))]
        if abs(pivot) <= 1e-12 * np.max(np.abs(column)):
            pivot = column[np.argmax(np.abs(column))]
        columns.append(column / pivot)
    found = np.array(columns, complex).T if columns else np.zeros((len(linear.symbols), 0), complex)
    return Modes(values[kept], found, linear.symbols, coordinates, linear.point)


def _coordinates(symbols: tuple[str, ...]) -> tuple[str, ...]:
    """The variables that have no rate among the others, or are no rate: positions."""
    rates = [name for name in symbols if name.endswith("_dot")]
    others = tuple(name for name in symbols if name not in rates and not name.startswith("p_"))
    return others or symbols
