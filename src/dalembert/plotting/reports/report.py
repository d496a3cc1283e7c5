"""A run on one page: model, equations, start, plots, animation, diagnostics and data in HTML.

The page refers to nothing outside of itself, so that it can be read from a disk, without a network,
for as long as there are browsers. Every word of a model is escaped, and a policy in the page keeps
scripts other than its own from running.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..._version import __version__
from ...errors import DalembertError, FileError
from ...model.drawing import drawing_of
from ...model.energy_changes import energy_changes
from ...model.io.atomic_file import write_whole
from ...typing import Array
from ..curves.panels import Panel, chosen_panels
from ..curves.plots import draw_panels
from ..motion_samples import EventMarks, event_marks
from ..page_bundle import MODULES, bundle
from ..style import LIGHT, checked_path
from .display import statements
from .report_formulas import can_typeset, equation_lines, formula, is_longer_than, symbol_latex
from .report_scene import packed_scene

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["report"]

#: Numbers in the table of data; beyond, every k-th row is kept.
MOST_NUMBERS = 60_000
#: Panels of plots, rows of tables, nodes of a model whose equations are written out.
MOST_PANELS, MOST_ROWS, MOST_NODES = 10, 200, 6_000

#: Where the model runs, and the line that begins it.
_LIVE_SECTION = (
    '<section><h2>Run it</h2><div id="live" class="dalembert-view"><p>The model runs here, in a'
    " browser that allows scripts and WebAssembly.</p></div></section>"
)
_START_LIVE = (
    'page.startLive(document.getElementById("live"),'
    ' JSON.parse(document.getElementById("live-model").textContent));\n'
)


def report(
    motion: Motion,
    path: str | PathLike[str],
    *,
    title: str | None = None,
    equations: bool = True,
    live: bool = False,
) -> Path:
    """Write one self-contained HTML page about a run; with `live` the model runs in it.

    Parameters
    ----------
    motion : Motion
    path : path
        An .html file.
    title : str, optional
        The system's name unless given.
    equations : bool
        Whether the equations are written out, which takes seconds for large systems.
    live : bool
        Whether the model itself is in the page, as WebAssembly: sliders for its parameters and its
        start, its drawing and plots, computed anew by every change. Nothing has to be installed
        to open it. Contacts, sampled laws and inputs that are Python functions cannot run there.

    Returns
    -------
    Path
        Of the page: title and outcome, animation and plots that move together, diagnostics,
        energies, constraints and equations (MathML with the extra `lab`, LaTeX without),
        parameters, the start and what was done to it, the model file, the data.

    Raises
    ------
    FileError
        For another suffix, or a folder that is not there.
    ModelError
        With `live`, for a model that cannot run in a page.

    Examples
    --------
    >>> import tempfile
    >>> import dalembert as da
    >>> motion = da.simulate(da.gallery.load("knife-edge"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(motion, f"{folder}/run.html", equations=False).read_text(encoding="utf-8")
    >>> page.splitlines()[0], "Knife edge" in page
    ('<!DOCTYPE html>', True)
    """
    target = checked_path(path, (".html", ".htm"), "report")
    page = report_page(motion, title, equations, live)
    try:
        write_whole(target, page)
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"The report {target.name} cannot be written"
        raise FileError(what, reason, "check the path") from error
    return target


def report_page(
    motion: Motion,
    title: str | None = None,
    equations: bool = True,
    live: bool = False,
    note: str = "",
) -> str:
    """The text of the page; a note stands below its heading."""
    name = motion.system.name if title is None else title
    scene = None if live else _scene(motion)
    scripts = [("scene", scene, _file("player.js"))] if scene is not None else []
    style = _file("report.css")
    if live:
        from .live import live_record

        scripts = [("live-model", live_record(motion, _slug(motion)), bundle("live") + _START_LIVE)]
        style += (MODULES / "viewer.css").read_text(encoding="utf-8")
    sections = [
        _header(motion, name, note),
        _LIVE_SECTION if live else _animation(scene),
        _plots(motion),
        _table("How it went", _diagnostics(motion)),
        _model(motion, equations),
        f'<div class="columns">{_parameters(motion)}{_start(motion)}</div>',
        _data(motion),
        f"<footer>Written by dalembert {_text(__version__)}. The page is complete: no other file,"
        " no network.</footer>",
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    policy += "; base-uri 'none'; form-action 'none'"
    script = ""
    for identity, data, text in scripts:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'" + (" 'wasm-unsafe-eval'" if live else "")
        packed = json.dumps(data, separators=(",", ":"), allow_nan=False)
        packed = packed.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        script += f'<script type="application/json" id="{identity}">{packed}</script>\n'
        script += f"<script>{text}</script>"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(name)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(section for section in sections if section)
        + f"\n{script}\n</body>\n</html>\n"
    )


def _file(name: str) -> str:
    return files(__package__).joinpath("report_page", name).read_text(encoding="utf-8")


def _text(value: object) -> str:
    return html.escape(str(value))


def _number(value: float) -> str:
    return f"{float(value):.10g}"


def _table(heading: str, rows: Iterable[tuple[str, str]]) -> str:
    """A section with a table of two columns, whose cells are HTML."""
    body = "".join(f'<tr><th scope="row">{word}</th><td>{cell}</td></tr>' for word, cell in rows)
    if not body:
        return ""
    return f'<section><h2>{heading}</h2><div class="scroll"><table>{body}</table></div></section>'


# -- the parts of the page -------------------------------------------------------------------------


def _header(motion: Motion, name: str, note: str) -> str:
    scenario = motion.scenario
    kind = "good" if motion.success else "bad"
    lines = [f"<h1>{_text(name)}</h1>"]
    if scenario is not None and scenario.summary:
        lines.append(f"<p>{_text(scenario.summary)}</p>")
    badge = f'<span class="badge {kind}">{_text(motion.outcome.value)}</span>'
    lines.append(f"<p>{badge}{_text(motion.message)}</p>")
    if scenario is not None and scenario.source:
        lines.append(f'<p class="muted">{_text(scenario.source)}</p>')
    if note:
        lines.append(f"<p>{_text(note)}</p>")
    return f"<header>{''.join(lines)}</header>"


def _scene(motion: Motion) -> dict[str, Any] | None:
    drawing = drawing_of(motion.scenario, motion.system)
    if drawing is None or len(motion.t) < 2:
        return None
    try:
        return packed_scene(motion, drawing)
    except DalembertError:  # nothing finite to show, or symbols without values
        return None


def _animation(scene: dict[str, Any] | None) -> str:
    if scene is None:
        return ""
    options = [(x, " selected" if x == 1 else "") for x in (0.25, 0.5, 1, 2, 4)]
    speeds = "".join(f'<option value="{x}"{mark}>{x:g}×</option>' for x, mark in options)
    return (
        '<section><h2>Animation</h2><figure><canvas id="canvas" role="img" aria-label="The system'
        ' in motion"></canvas><div class="controls"><button id="play"'
        ' type="button">Play</button><input id="slider" type="range" min="0" value="0" step="1"'
        f' aria-label="Time"><select id="pace" aria-label="Speed">{speeds}</select><output'
        ' id="clock" for="slider"></output></div></figure></section>'
    )


def _plots(motion: Motion) -> str:
    if len(motion.t) < 2 or motion.y.size > 5_000_000:
        return ""
    try:
        panels = chosen_panels(motion, None, None)[:MOST_PANELS]
    except DalembertError:  # the page goes without plots
        return ""
    marks, title, named = event_marks(motion), "", []
    for panel in panels:  # what continues another panel has its title, because it stands alone here
        title = panel.title or title
        named.append(replace(panel, title=title))
    drawn = "".join(_plot(panel, marks, number) for number, panel in enumerate(named))
    return f'<section><h2>Plots</h2><div class="columns">{drawn}</div></section>'


def _plot(panel: Panel, marks: Sequence[EventMarks], number: int) -> str:
    """A panel as SVG in the colours of the page, with a cursor over each of its axes."""
    picture = draw_panels([panel], LIGHT, marks)
    buffer = io.StringIO()
    picture.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    drawn = buffer.getvalue()
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    drawn = re.sub(r'(\bid="|"#|url\(#)', lambda match: f"{match[1]}f{number}-", drawn)
    drawn = re.sub(r"#[0-9a-f]{6}\b", lambda match: _VARIABLES.get(match[0], match[0]), drawn)
    label = _text(panel.title or "a plot")
    drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    cursors = ""
    for axes in picture.axes:
        box, (first, last) = axes.get_position(), axes.get_xlim()
        place = f"{100 * box.x0:.3f} {100 * box.x1:.3f} {first:.9g} {last:.9g}"
        upright = f"top:{100 * (1 - box.y1):.2f}%;height:{100 * box.height:.2f}%"
        cursors += f'<div class="cursor" data-axis="{place}" style="{upright}"></div>'
    return f'<figure class="plot">{drawn}{cursors}</figure>'


def _variables() -> dict[str, str]:
    """Colours of the light style, as they stand in SVG, to the names that the page gives them."""
    found = {getattr(LIGHT, role): role for role in ("trace", "body", "link", "ground", "accent")}
    found |= {color: f"c{k}" for k, color in enumerate(LIGHT.cycle)}
    found |= {LIGHT.ink: "ink", LIGHT.muted: "axis", LIGHT.grid: "grid"}
    found |= {LIGHT.background: "background"}
    return {color.lower(): f"var(--{name})" for color, name in found.items()}


_VARIABLES = _variables()


def _diagnostics(motion: Motion) -> list[tuple[str, str]]:
    known = motion.statistics
    rows = [("outcome", f"{_text(motion.outcome.value)}: {_text(motion.message)}")]
    if len(motion.t):
        first, last = _number(motion.t[0]), _number(motion.t[-1])
        rows.append(("time", f"{first} to {last}, {len(motion.t)} points"))
    cited = f"<span class=muted>({_text(motion.equations.citation)})</span>"
    rows.append(("equations", f"{_text(motion.equations.form)} {cited}"))
    hypotheses = motion.equations.hypotheses.items()
    rows += [(_text(claim), _text(verdict)) for claim, verdict in hypotheses]
    rows.append(("method", _text(known.get("method", "unknown"))))
    rows += [("chosen because", _text(known[key])) for key in ("method_reason",) if known.get(key)]
    given = {key: known.get(key) for key in ("rtol", "atol", "step", "every")}
    settings = [f"{key} = {x:g}" for key, x in given.items() if isinstance(x, (int, float))]
    rows += [("settings", _text(", ".join(settings)))] if settings else []
    words = {"accepted": "steps", "rejected": "rejected", "evaluations": "nfev"}
    words["projections"] = "projections"
    counts = {word: known.get(key) for word, key in words.items()}
    taken = [f"{count} {word}" for word, count in counts.items() if count is not None]
    rows.append(("steps", _text(", ".join(taken))))
    rows += _kept(motion)
    events = zip(motion.event_names, motion.t_events, strict=True)
    rows += [(f"event {_text(name)}", _times(times)) for name, times in events]
    for name in dict.fromkeys(name for _, name in motion.impacts):
        times = [time for time, hit in motion.impacts if hit == name]
        rows.append((f"impacts on {_text(name)}", _times(times)))
    switches = motion.switches[:20]
    rows += [(f"switch at t = {float(time):.6g}", _text(text)) for time, text in switches]
    if len(motion.switches) > 20:
        rows.append(("switches", f"{len(motion.switches)} in all"))
    stages = {word: known.get(f"{word}_seconds") for word in ("derive", "compile", "integrate")}
    seconds = [f"{x:.3g} s to {word}" for word, x in stages.items() if x is not None]
    rows += [("took", _text(", ".join(seconds)))] if seconds else []
    return [*rows, ("version", f"dalembert {_text(__version__)}")]


def _times(times: Sequence[float] | Array) -> str:
    shown = ", ".join(f"{float(time):.8g}" for time in list(times)[:8])
    if not len(times):
        return "none"
    return f"{len(times)} at t = {shown}{', ...' if len(times) > 8 else ''}"


def _kept(motion: Motion) -> list[tuple[str, str]]:
    """What the run kept: its energy, its constraints."""
    rows = []
    if len(motion.t) and "energy" in motion.names:
        energy = np.asarray(motion.energy, dtype=float)
        finite = energy[np.isfinite(energy)]
        if finite.size:
            scale, word = (abs(finite[0]), " relative") if abs(finite[0]) > 1e-6 else (1.0, "")
            change, causes = f"{np.ptp(finite) / scale:.2e}{word}", energy_changes(motion.system)
            how = f"changes by {change}, as {causes} may make it"
            if not causes:
                how = f"changes by at most {change}"
            rows.append(("energy", f"{finite[0]:.10g} at the start, {how}"))
    if len(motion.t) and motion.system.bilateral:
        worst = motion.worst_residual
        levels = ", ".join(f"{level} {value:.2e}" for level, value in worst.items())
        rows.append(("residuals", _text(levels)))
    return rows


def _model(motion: Motion, equations: bool) -> str:
    cells = [
        (word, f'<div class="formula">{_shown(x)}</div>') for word, x in statements(motion.system)
    ]
    rows = "".join(f'<tr><th scope="row">{_text(w)}</th><td>{cell}</td></tr>' for w, cell in cells)
    found = f'<section><h2>Model</h2><div class="scroll"><table>{rows}</table></div></section>'
    if not can_typeset():
        command = '<code>pip install "dalembert[lab]"</code>'
        found += (
            f'<p class="muted">Formulas are shown as LaTeX; with {command} they are typeset.</p>'
        )
    return found + (_equations(motion) if equations else "")


def _shown(latex: str) -> str:
    return formula(latex, True, "pre") if latex else '<i class="muted">too long to show</i>'


def _equations(motion: Motion) -> str:
    system = motion.system
    try:
        if len(system.coordinates) > 60 or is_longer_than(system.expressions(), MOST_NODES):
            raise DalembertError("These equations are too long to be written out")
        lines = [formula(line, True, "pre") for line in equation_lines(motion.equations)]
        body = "".join(f'<div class="formula">{line}</div>' for line in lines)
    except DalembertError as error:
        body = f'<p class="muted">{_text(error)}</p>'
    return f"<section><h2>Equations, form {_text(motion.equations.form)}</h2>{body}</section>"


def _parameters(motion: Motion) -> str:
    symbols = {symbol.name: symbol for symbol in motion.system.parameters}
    given = list(motion.parameters.items())[:MOST_ROWS]
    rows = [(_symbol(name, symbols), _number(value)) for name, value in given]
    return _table("Parameters", rows)


def _start(motion: Motion) -> str:
    """The consistent start that was used, and what was completed or moved for it."""
    system = motion.system
    speeds = (*(system.image.speeds if system.image else ()), *motion.state)
    own = (*system.coordinates, *system.velocities, *system.momenta, *speeds)
    symbols = {symbol.name: symbol for symbol in own}
    given = list(motion.start.items())[:MOST_ROWS]
    rows = [(_symbol(name, symbols), _number(value)) for name, value in given]
    told = motion.start_report[:MOST_ROWS]
    said = "".join(f'<p class="muted">{_text(sentence)}</p>' for sentence in told)
    table = _table("Start", rows)
    return table.replace("</section>", f"{said}</section>") if table else ""


def _symbol(name: str, symbols: dict[str, sympy.Symbol]) -> str:
    shown = formula(symbol_latex(symbols[name])) if name in symbols and can_typeset() else ""
    return f'<span title="{_text(name)}">{shown or _text(name)}</span>'


# -- data ------------------------------------------------------------------------------------------


def _data(motion: Motion) -> str:
    parts = []
    if len(motion.t):
        table, rows, columns = _csv(motion)
        note = ""
        if rows != len(motion.t):
            note = f", every {-(-len(motion.t) // rows)}th of {len(motion.t)} stored points"
        parts.append(
            f'<p><a class="button" download="{_slug(motion)}.csv"'
            f' href="{_download("text/csv", table)}">Data as CSV</a> <span class="muted">{rows}'
            f" rows, {columns} columns{note}</span></p>"
        )
    text, note = _model_file(motion)
    if text and len(text) < 200_000:
        parts.append(
            f'<p><a class="button" download="{_slug(motion)}.toml"'
            f' href="{_download("application/toml", text)}">Model file</a> <span class="muted">runs'
            f" again with <code>dalembert run {_slug(motion)}.toml</code>."
            f" {_text(note)}</span></p><details><summary>Show the model"
            f" file</summary><pre>{_text(text)}</pre></details>"
        )
    elif note:
        parts.append(f'<p class="muted">{_text(note)}</p>')
    return f"<section><h2>Data</h2>{''.join(parts)}</section>" if parts else ""


def _model_file(motion: Motion) -> tuple[str, str]:
    """The model file of a run with its drawing, and a note on what it lacks."""
    from ...integrate.storage.save import model_text, scenario_of
    from ...model.io.files import dumps

    text, note = model_text(motion)
    try:
        return dumps(scenario_of(motion)), note
    except DalembertError:  # a drawing, or a model, that has no place in a file
        return text, note


def _csv(motion: Motion) -> tuple[str, int, int]:
    columns = {name: np.asarray(motion[name], dtype=float) for name in motion.names}
    every = max(-(-len(motion.t) * len(columns) // MOST_NUMBERS), 1)
    table = np.array(list(columns.values()))[:, ::every].T
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([f"{value:.12g}" for value in row] for row in table)
    return buffer.getvalue(), len(table), len(columns)


def _download(kind: str, text: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"


def _slug(motion: Motion) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", motion.system.name).strip("-").lower()[:60] or "run"
