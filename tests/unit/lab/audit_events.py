"""Works on hostile models and requests under an audit hook, and prints what it saw: ``python
audit_events.py FOLDER [few]``.

Everything that is imported late is imported by a good model first, on the same roads. Then the hook
watches: text that is compiled or executed, imports, pickles, programs, connections, and files
outside of FOLDER, the cache and the packages.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
#: What only hostile input names; no event may carry it.
CANARY = "canary_of_the_test"
GOOD = (
    'coordinates = ["x"]\nkinetic = "m*x_dot**2/2"\npotential = "m*sin(x)"\nconstraints ='
    " []\n[parameters]\nm = 1.0\n[start]\nx = 0.5\n[simulate]\nt = [0, 0.1]\n[[drawing]]\npoint ="
    ' ["sin(x)", "m*x"]\n'
)
PAYLOADS = (
    f"__import__('{CANARY}')",
    f"__import__({CANARY})",
    f"exec({CANARY})",
    f"eval('{CANARY}')",
    f"x.__class__.__init__.__globals__['{CANARY}']",
    f"open('{CANARY}')",
    f"(lambda: {CANARY})()",
    f"[{CANARY} for x in (1,)]",
    f"f'{{{CANARY}}}'",
    f"({CANARY} := 1)",
    f"os.system('{CANARY}')",
    f"getattr(x, '{CANARY}')",
    f"`{CANARY}`",
    f"; import {CANARY}",
    f"cos.{CANARY}(x)",
    f"{CANARY}[0]",
    f"1 < {CANARY} < 2",
)
NAMES = (
    "sin",
    "lambda",
    "import",
    "exec",
    "__builtins__",
    "__class__",
    "print",
    "numpy",
    CANARY,
    "np",
    "self",
    "math",
)
PATHS = (
    *(
        f"../{CANARY}.toml",
        f"..%2f{CANARY}.toml",
        f"%2e%2e/{CANARY}.toml",
        f"..%5c{CANARY}.toml",
        f"/{CANARY}.toml",
    ),
    *(
        f"%2f{CANARY}.toml",
        f"{CANARY}.toml%00",
        f"C:%5c{CANARY}.toml",
        f"a/../../{CANARY}.toml",
        "link.toml",
        f"....//{CANARY}.toml",
    ),
    *(
        f"..%252f{CANARY}.toml",
        f"%c0%ae%c0%ae/{CANARY}.toml",
        "nul.toml",
        "CON.toml",
        f"~{CANARY}.toml",
        f".{CANARY}.toml",
    ),
)
events: list[list[str]] = []
learned: set[Any] = set()
watching = False
allowed: tuple[str, ...] = ()
ALWAYS = {
    *(
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "subprocess.Popen",
        "os.fork",
        "os.forkpty",
        "pty.spawn",
    ),
    *(
        "socket.connect",
        "socket.bind",
        "socket.getaddrinfo",
        "pickle.find_class",
        "marshal.loads",
        "marshal.load",
        "webbrowser.open",
    ),
    *(
        "urllib.Request",
        "ctypes.dlopen",
        "shutil.rmtree",
        "code.__new__",
        "ftplib.connect",
        "smtplib.connect",
    ),
}


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Keep what must not happen; what a good model has compiled, annotations of our own sources,
    may be compiled again.
    """
    told = repr(arguments)[:200]
    if event == "compile" and arguments[0] is not None and str(arguments[1]).startswith("<"):
        if not watching:
            learned.add(arguments[0])
        elif arguments[0] not in learned:
            events.append([event, told])
    if not watching:
        return
    code = str(getattr(arguments[0], "co_filename", "")) if event == "exec" else ""
    strange = code.startswith("<") and not code.startswith(("<string>", "<frozen"))
    if strange or event in ALWAYS or (event == "import" and arguments[0] in (CANARY, *NAMES)):
        events.append([event, told])
    elif event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if (
            not path.startswith(allowed)
            and path not in ("/dev/null", "/dev/urandom")
            and not _of_the_cache(arguments[0])
        ):
            events.append([event, told])


def _of_the_cache(name: str | bytes | os.PathLike) -> bool:
    """Whether the cache opens a name relative to a folder that it holds open; events do not tell
    the folder.
    """
    asked = sys._getframe(2).f_code.co_filename
    return Path(asked).name == "private_folder.py" and CANARY not in os.fsdecode(name)


def models() -> Iterator[str]:
    """Hostile model files: payloads in every place that takes text, and names that mean something
    elsewhere.
    """
    for payload in PAYLOADS:
        text = json.dumps(payload)
        yield GOOD.replace('"m*sin(x)"', text)
        yield GOOD.replace("m = 1.0", f"m = {text}")
        yield GOOD.replace('"sin(x)", "m*x"', f'{text}, "0"')
        yield GOOD.replace("constraints = []", f"constraints = [{text}]")
        yield GOOD.replace('["x"]', f'["x", {text}]')
        yield f"name = {text}\n{GOOD}"
    for name in NAMES:
        yield GOOD.replace("m = 1.0", f"{name} = 1.0").replace("m*", f"{name}*")


def worked(text: str, folder: Path, commands: bool) -> None:
    """One model on the roads of the command line and of a worker of the lab."""
    from dalembert.cli import main
    from dalembert.errors import DalembertError
    from dalembert.lab.workers.worker_handlers import ANSWERS, _NoJobContext

    with contextlib.suppress(DalembertError):
        ANSWERS["check"]({"text": text}, _NoJobContext())
    if commands:
        path = folder / "hostile.toml"
        path.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(["run", str(path)])
            main(["derive", str(path), "--format", "latex"])
        case = {"text": text, "id": "a", "frames": 5, "steps": 100}
        with contextlib.suppress(DalembertError):
            ANSWERS["run"](case, _NoJobContext())
            for format in ("csv", "toml", "py"):
                ANSWERS["download"](case | {"format": format}, _NoJobContext())


def main(folder: Path, few: bool) -> None:
    """Warm up, watch, print."""
    global watching, allowed
    sys.path.insert(0, str(ROOT))
    from soak.fuzz.targets import _lab, checked

    sys.addaudithook(hook)
    worked(GOOD, folder, not few)
    inside = _lab()[2]
    checked("request", b"GET /api/files/a.toml\n\n")
    checked(
        "request", b"PUT /api/files/b.toml\n\n" + json.dumps({"text": GOOD, "draft": True}).encode()
    )
    checked("request", b"GET /api/nothing\n\n")
    packages = {
        sys.prefix,
        sys.base_prefix,
        str(ROOT / "src"),
        str(ROOT / "soak"),
        os.path.dirname(os.__file__),
    }
    cache = os.environ.get("DALEMBERT_CACHE", str(Path.home() / ".cache" / "dalembert"))
    allowed = (f"{folder}{os.sep}", f"{inside}{os.sep}", f"{cache}{os.sep}", *packages)
    tempfile.tempdir = str(folder)
    watching = True
    count = 0
    for number, text in enumerate(list(models())[:: 9 if few else 1]):
        worked(text, folder, not few and (number % 20 == 0 or number >= 6 * len(PAYLOADS)))
        checked("request", b"POST /api/check\n\n" + json.dumps({"text": text}).encode())
        count += 2
    for path in PATHS:
        for request in (
            f"GET /api/files/{path}\n\n",
            f'PUT /api/files/{path}\n\n{{"text": "x", "draft": true}}',
            f"GET /page/{path}\n\n",
        ):
            checked("request", request.encode())
            count += 1
    if few:  # to see that the watch sees
        compile(f"{CANARY} = 1", "<string>", "exec")
        with contextlib.suppress(OSError):
            open(folder.parent / f"{CANARY}.txt").close()
    watching = False
    print(json.dumps({"events": events, "worked": count}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), len(sys.argv) > 2)
