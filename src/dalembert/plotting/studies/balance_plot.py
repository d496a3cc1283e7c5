"""The energy balance of a motion: what was stored, supplied and lost, and what the sum leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from ...typing import Array, Path
from ..axis_labels import mathtext
from ..style import Picture, Style, finished, style_named

__all__ = ["plot_balance"]

#: Energies below this part of the largest one are not drawn.
NOTHING = 1e-9


class Balance(Protocol):
    """What `da.control.energy_balance` gives."""

    @property
    def t(self) -> Array: ...
    @property
    def stored(self) -> Array: ...
    @property
    def supplied(self) -> Mapping[str, Array]: ...
    @property
    def dissipated(self) -> Array: ...
    @property
    def other(self) -> Array: ...
    @property
    def explicit(self) -> Array: ...
    @property
    def residual(self) -> Array: ...


def plot_balance(
    balance: Balance, *, path: Path | None = None, style: str | Style = "light",
    title: str | None = None,
) -> Picture:  # fmt: skip
    """Draw an energy balance: energies over time, and below them what their sum leaves open.

    Parameters
    ----------
    balance : EnergyBalance
        Of `da.control.energy_balance`.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark" or Style
    title : str, optional

    Examples
    --------
    >>> import dalembert as da
    >>> x, u = da.coordinates("x"), da.inputs("u")
    >>> loads = {"forces": {x: u}, "dissipation": x.dot**2 / 4, "inputs": [u]}
    >>> pushed = da.System([x], kinetic=x.dot**2 / 2, **loads)
    >>> motion = da.simulate(pushed, span=(0, 1), inputs={u: 1 + da.t})
    >>> picture = plot_balance(da.control.energy_balance(motion))
    >>> [axes.get_ylabel() for axes in picture.axes][0]
    'energy'
    """
    look = style_named(style)
    curves = {f"supplied by {mathtext(name)}": values for name, values in balance.supplied.items()}
    curves["dissipated"] = -balance.dissipated
    curves |= {"other forces": balance.other, "explicit time": balance.explicit}
    sizes = [float(np.max(np.abs(values))) for values in (balance.stored, *curves.values())]
    size = max(sizes) or 1.0
    picture = Picture(look, figsize=(7.2, 4.6), layout="constrained")
    with look.context():
        energies, open_sum = picture.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        energies.plot(balance.t, balance.stored, color=look.ink, linewidth=2.2, label="stored")
        for name, values in curves.items():
            if np.max(np.abs(values)) > NOTHING * size:
                energies.plot(balance.t, values, linewidth=1.5, label=name)
        energies.axhline(0.0, color=look.muted, linewidth=0.7)
        energies.set_ylabel("energy")
        energies.legend(loc="best")
        left = np.maximum(np.abs(balance.residual) / size, 1e-17)
        open_sum.semilogy(balance.t, left, color=look.accent, linewidth=1.2)
        open_sum.set(xlabel="$t$", ylabel="open sum\n(relative)")
    return finished(picture, path, title)
