"""The commands with their options. What they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from .._version import __version__

__all__ = ["app"]

app = typer.Typer(
    name="dalembert",
    help="Constrained analytical mechanics: state a system once, derive, simulate, check and draw"
    " it.",
    epilog="SYSTEM is a built-in system (see `dalembert gallery`) or the path of a model file.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _system_names(incomplete: str) -> list[str]:
    from ..gallery import built_in

    return [name for name in built_in() if name.startswith(incomplete)]


def _show_version(asked: bool) -> None:
    if asked:
        print(f"dalembert {__version__}")
        raise typer.Exit


System = Annotated[
    str,
    Argument(
        metavar="SYSTEM",
        help="A built-in system, or the path of a model file.",
        autocompletion=_system_names,
        show_default=False,
    ),
]
Span = Annotated[str | None, Option("--t", metavar="T0,T1", help="From when to when.")]
RTol = Annotated[float | None, Option("--rtol", help="Relative tolerance.")]
ATol = Annotated[float | None, Option("--atol", help="Absolute tolerance.")]
Method = Annotated[str | None, Option("--method", metavar="M", help="The method of integration.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]
JsonLines = Annotated[
    bool,
    Option(
        "--json-lines",
        help="Print JSON lines: the progress while it runs, then what --json prints.",
    ),
]
Form = Annotated[
    str | None, Option("--form", metavar="F", help="The form of the equations of motion.")
]


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


@app.command()
def gallery(as_json: AsJson = False) -> int:
    """List the built-in systems with their sources."""
    from .listing import gallery_command

    return gallery_command(as_json)


@app.command()
def run(
    system: System,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="FILE.nc", help="Save the motion as netCDF.")
    ] = None,
    plot: Annotated[
        str | None,
        Option(
            "--plot",
            metavar="[FILE]",
            help="Plot it as .png, .svg or .pdf; SYSTEM.png where no file is named.",
        ),
    ] = None,
    animate: Annotated[
        Path | None, Option("--animate", metavar="FILE", help="Animate it as .mp4, .webm or .gif.")
    ] = None,
    fps: Annotated[
        float | None,
        Option(
            "--fps",
            metavar="N",
            help="Frames in a second of the animation: 30, of a .gif at most 20.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        Option("--size", metavar="WxH", help="Pixels of the animation, such as 640x480."),
    ] = None,
    report: Annotated[
        Path | None,
        Option(
            "--report",
            metavar="FILE.html",
            help="Write one page about the run: model, plots, animation, data.",
        ),
    ] = None,
    live: Annotated[
        Path | None,
        Option("--live", metavar="FILE.html", help="The same page, in which the model runs."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter or a start value, such as m=2 or x_dot=pi/4.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        Option(
            "--at",
            metavar="T1,T2,...",
            help="Times to store, or FIRST:LAST:COUNT; every step by default.",
        ),
    ] = None,
    span: Span = None,
    rtol: RTol = None,
    atol: ATol = None,
    form: Form = None,
    method: Method = None,
    step: Annotated[
        float | None,
        Option(
            "--step", metavar="H", help="The step of a method with fixed steps, such as gauss4."
        ),
    ] = None,
    every: Annotated[
        int | None, Option("--every", metavar="K", help="Store every K-th of the fixed steps.")
    ] = None,
    as_json: AsJson = False,
    json_lines: JsonLines = False,
    project_start: Annotated[
        bool,
        Option(
            "--project-start/--no-project-start",
            help="Move a start to the constraints, or refuse it.",
        ),
    ] = True,
) -> int:
    """Simulate a system."""
    from .run_command import Request, run_command

    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "form": form, "method": method}
    options |= {"step": step, "every": every, "project_start": project_start}
    animation = {"fps": fps, "size": size}
    given = system, tuple(settings or ()), at, span, options
    told = as_json or json_lines
    return run_command(
        Request(*given, output, plot, animate, told, report, live, animation, json_lines)
    )


@app.command()
def sweep(
    system: System,
    output: Annotated[
        Path,
        Option("-o", "--output", metavar="RUNS.zarr", help="The Zarr store that takes the runs."),
    ],
    over: Annotated[
        list[str] | None,
        Option(
            "--over",
            metavar="NAME=FIRST:LAST:COUNT",
            help="Values of a parameter or a start; or NAME=V1,V2,... Repeatable.",
        ),
    ] = None,
    samples: Annotated[
        Path | None,
        Option(
            "--samples",
            metavar="FILE.csv",
            help="Runs as lines of a file, with names in the first.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        Option(
            "--sample",
            metavar="N",
            help="Draw N runs, with --over NAME=LOW:HIGH (Latin hypercube).",
        ),
    ] = None,
    seed: Annotated[int, Option("--seed", metavar="S", help="Where the drawing begins.")] = 0,
    resume: Annotated[
        bool, Option("--resume", help="Go on with a store that was begun by the same call.")
    ] = False,
    scheduler: Annotated[
        str | None,
        Option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="A parameter or a start value of all runs."),
    ] = None,
    at: Annotated[
        str | None,
        Option(
            "--at",
            metavar="T1,T2,...",
            help="Times to keep, or FIRST:LAST:COUNT; the last one by default.",
        ),
    ] = None,
    span: Span = None,
    rtol: RTol = None,
    atol: ATol = None,
    form: Form = None,
    method: Method = None,
    step: Annotated[
        float | None, Option("--step", metavar="H", help="The step of a method with fixed steps.")
    ] = None,
    workers: Annotated[
        int | None,
        Option("--workers", metavar="N", help="Threads; one for each processor by default."),
    ] = None,
    chunk: Annotated[
        int | None,
        Option(
            "--chunk",
            metavar="N",
            help="Runs that are made and stored together; fitted by default.",
        ),
    ] = None,
    as_json: AsJson = False,
    json_lines: JsonLines = False,
) -> int:
    """Simulate a system many times, over parameters and starts."""
    from .sweep_command import SweepRequest, sweep_command

    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "form": form, "method": method}
    options["step"] = step
    request = SweepRequest(
        system, tuple(over or ()), samples, sample, seed, output, resume, tuple(settings or ()), at,
        span, options, workers, scheduler, chunk, as_json or json_lines, json_lines
    )  # fmt: skip
    return sweep_command(request)


@app.command()
def rerun(
    file: Annotated[
        Path, Argument(metavar="FILE.nc", help="A motion that was saved.", show_default=False)
    ],
    rtol: Annotated[
        float | None,
        Option(
            "--rtol", help="The difference that is allowed; the tolerance of the run by default."
        ),
    ] = None,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="NEW.nc", help="Save the new motion.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make a saved motion again by the call that its file holds, and compare."""
    from .rerun_command import rerun_command

    return rerun_command(file, rtol, output, as_json)


@app.command()
def plot(
    file: Annotated[
        Path, Argument(metavar="FILE.nc", help="A motion that was saved.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="PICTURE",
            help="A .png, .svg or .pdf, or an animation .gif, .mp4 or .webm; FILE.png by default.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        Option("--of", metavar="NAME", help="A column to draw, such as x or energy. Repeatable."),
    ] = None,
    phase: Annotated[
        str | None,
        Option("--phase", metavar="X,Y[,Z]", help="Draw columns against each other."),
    ] = None,
    style: Annotated[
        Literal["light", "dark"], Option("--style", help="The colours of the picture.")
    ] = "light",
    as_json: AsJson = False,
) -> int:
    """Draw a motion that was saved."""
    from .plot_command import PlotRequest, plot_command

    return plot_command(PlotRequest(file, output, tuple(names or ()), phase, style, as_json))


@app.command()
def derive(
    system: System,
    form: Form = None,
    format: Annotated[
        Literal["text", "latex", "document", "c", "jax"],
        Option(
            "--format",
            help="How the equations are written; `document` is a whole derivation in LaTeX.",
        ),
    ] = "text",
    explicit: Annotated[
        bool, Option("--explicit", help="Solve for the unknowns by formula, without multipliers.")
    ] = False,
    parts: Annotated[
        bool,
        Option("--parts", help="Print the matrices of the formula z = a + K e (text or latex)."),
    ] = False,
) -> int:
    """Print the equations of motion."""
    from .listing import derive_command

    return derive_command(system, form, format, explicit, parts)


@app.command()
def export(
    system: System,
    to: Annotated[
        Literal["c", "fmu2", "fmu3", "latex", "jax"],
        Option("--to", help="C99, a unit of FMI 2.0 or 3.0, a LaTeX document, or JAX source."),
    ],
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="PATH",
            help="The file to write; called after the system by default.",
        ),
    ] = None,
    form: Form = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="A parameter or a start value."),
    ] = None,
    span: Span = None,
    rtol: RTol = None,
    step: Annotated[
        float | None, Option("--step", metavar="H", help="The time between rows or exchanges.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        Option("--input", metavar="NAME", help="An input to be driven from outside. Repeatable."),
    ] = None,
    name: Annotated[
        str | None, Option("--name", metavar="NAME", help="What names in the files begin with.")
    ] = None,
) -> int:
    """Write the equations of motion as files for other programs."""
    from .export_command import ExportRequest, export_command

    given = tuple(settings or ()), span, rtol, step, form, tuple(inputs or ())
    return export_command(ExportRequest(system, to, output, name, *given))


@app.command()
def check(system: System, as_json: AsJson = False) -> int:
    """Classify a system, find its rank and invariants, and compare every form of its equations."""
    from .listing import check_command

    return check_command(system, as_json)


@app.command()
def bergmann(
    system: System,
    gauge: Annotated[
        list[str] | None,
        Option("--gauge", metavar="EXPR", help="A gauge condition that vanishes. Repeatable."),
    ] = None,
    nonzero: Annotated[
        list[str] | None,
        Option("--nonzero", metavar="EXPR", help="A factor that is not zero. Repeatable."),
    ] = None,
    output: Annotated[
        Path | None,
        Option("-o", "--output", metavar="PATH", help="A model file of the motion, to be run."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Find the constraints, the gauge freedom and the motion of a degenerate Lagrangian."""
    from .bergmann_command import bergmann_command

    return bergmann_command(system, gauge or [], nonzero or [], output, as_json)


@app.command()
def verify(
    identifiers: Annotated[
        list[str] | None, Argument(metavar="[ID]...", help="Results such as U-36; all by default.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Recompute the printed results of the source documents."""
    from .verifying import verify_command

    return verify_command(identifiers or [], as_json)


@app.command()
def new(
    file: Annotated[
        Path, Argument(metavar="FILE.toml", help="The model file to write.", show_default=False)
    ],
    source: Annotated[
        str | None,
        Option(
            "--from",
            metavar="SYSTEM",
            help="Begin with a built-in system or another model file.",
            autocompletion=_system_names,
        ),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a file that exists.")] = False,
    as_json: AsJson = False,
) -> int:
    """Write a model file to begin with: one that runs, with a drawing."""
    from .new_command import new_command

    return new_command(file, source, force, as_json)


@app.command()
def doctor(as_json: AsJson = False) -> int:
    """Look at the environment, the cache and optional packages, and run a self-test."""
    from .doctor_command import doctor_command

    return doctor_command(as_json)


@app.command()
def lab(
    folder: Annotated[
        Path,
        Argument(
            metavar="[FOLDER|FILE]",
            help="Where model files are opened and saved, or a model file (TOML, URDF, MJCF) to"
            " open.",
        ),
    ] = Path("."),
    port: Annotated[
        int | None,
        Option(
            "--port",
            metavar="N",
            help="The port on 127.0.0.1; 8350 or the next free one by default.",
        ),
    ] = None,
    no_browser: Annotated[
        bool, Option("--no-browser", help="Do not open the page in a browser.")
    ] = False,
    token: Annotated[
        str | None,
        Option(
            "--token",
            metavar="TEXT",
            envvar="DALEMBERT_LAB_TOKEN",
            help="What requests have to show; random by default. Other users can read arguments of"
            " commands: rather set the variable.",
        ),
    ] = None,
) -> int:
    """Open the lab: a web page on this machine in which models are written, run and watched."""
    from .lab_command import lab_command

    return lab_command(folder, port, not no_browser, token)
