"""Confine a worker process: no files but those it needs, no network, no other programs.

On Linux two mechanisms of the kernel are used, both without privileges and both kept by everything
that the process starts afterwards. Landlock bounds the folders that can be read and written; a
seccomp filter refuses the system calls that make sockets, run programs or look into other
processes. Elsewhere neither exists, and `confine` says so: the bounds on time, memory and files of
`worker` are then what there is.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...codegen.object_cache import cache_folder, state_folder
from ...codegen.private_folder import opened_folder

__all__ = ["Confinement", "confine"]

#: Numbers of Landlock's system calls, which are the same on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
#: What may be done with what is only read: read a file, list a folder. Libraries are mapped into
#: memory, for which reading is enough.
READ = 1 << 2 | 1 << 3
#: Rights on files by the version of Landlock that brought them.
FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
#: Of these, what a file that is no folder can have: execute, write, read, truncate, ioctl.
RIGHTS_OF_FILES = 1 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
#: Bind and connect by TCP (version 4); abstract sockets and signals to others (version 6).
NETWORK_RIGHTS, SCOPES = 3, 3

#: The operations of `prctl`, and of a seccomp filter.
SET_NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE = 38, 22, 2
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
#: Numbers from here on belong to the 32-bit interface of x86-64, which would pass by the others.
OTHER_INTERFACE = 0x40000000

#: The architecture as the kernel names it, and its numbers of the calls that are refused: socket,
#: execve, execveat, ptrace, process_vm_readv and process_vm_writev, bpf, userfaultfd,
#: perf_event_open, unshare, setns, mount, add_key, request_key, keyctl.
ARCHITECTURES = {
    "x86_64": (
        0xC000003E,
        (41, 59, 322, 101, 310, 311, 321, 323, 298, 272, 308, 165, 248, 249, 250),
    ),
    "aarch64": (
        0xC00000B7,
        (198, 221, 281, 117, 270, 271, 280, 282, 241, 97, 268, 40, 217, 218, 219),
    ),
}
#: Calls with one number everywhere: io_uring, which could open sockets, and pidfd_getfd.
REFUSED_EVERYWHERE = (425, 426, 427, 438)

#: What a process reads of the system: libraries, fonts, time zones, what the processor can do.
SYSTEM_FOLDERS = (
    *("/usr", "/lib", "/lib64", "/lib32", "/bin", "/opt", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/sys/devices/system"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm"),
    *("/dev/null", "/dev/zero", "/dev/urandom"),
)


@dataclass(frozen=True)
class Confinement:
    """What a process can no longer do.

    Attributes
    ----------
    files : bool
        Whether it reads and writes only what it needs.
    calls : bool
        Whether sockets, programs and other processes are out of its reach.
    reason : str
        Why something is not confined.
    """

    files: bool
    calls: bool
    reason: str = ""

    def __str__(self) -> str:
        done = ["files"] * self.files + ["network and programs"] * self.calls
        said = f"confined: {', '.join(done)}" if done else "not confined"
        return f"{said} ({self.reason})" if self.reason else said


def confine(readable: Iterable[Path] = ()) -> Confinement:
    """Confine this process, for good; call it before there are threads.

    Parameters
    ----------
    readable : paths
        Folders or files that may be read besides those that Python and its packages need.

    The environment variable ``DALEMBERT_CONFINE=off`` leaves the process as it is.

    Returns
    -------
    Confinement
        What could be done here, and why the rest could not.
    """
    if os.environ.get("DALEMBERT_CONFINE") == "off":
        return Confinement(False, False, "DALEMBERT_CONFINE=off")
    if not sys.platform.startswith("linux"):
        return Confinement(False, False, f"not offered by {platform.system() or sys.platform}")
    reasons = []
    try:
        _call("prctl", SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _bound_files([*_read_paths(), *readable], _written_paths())
        files = True
    except OSError as error:
        files = False
        reasons.append(f"Landlock: {error.strerror}")
    try:
        _refuse_calls()
        calls = True
    except OSError as error:
        calls = False
        reasons.append(f"seccomp: {error.strerror}")
    return Confinement(files, calls, "; ".join(reasons))


def _read_paths() -> Iterator[Path]:
    """What Python, its packages and the libraries they load are read from."""
    yield from map(Path, SYSTEM_FOLDERS)
    for given in (sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path):
        if given:
            yield Path(given)
    yield Path(__file__).resolve().parents[3]


def _written_paths() -> Iterator[Path]:
    """The folder of the process, and that of compiled code with its secret."""
    yield Path(tempfile.gettempdir())
    for folder in (cache_folder(), state_folder()):
        if folder is not None:
            with suppress(OSError), opened_folder(folder, make=True):
                yield folder


def _bound_files(read: Iterable[Path], written: Iterable[Path]) -> None:
    """Leave the process these paths and no others, by Landlock."""
    version = _call("syscall", CREATE_RULESET, None, 0, 1)
    every = sum(rights for since, rights in FILE_RIGHTS if version >= since)
    network, scopes = NETWORK_RIGHTS * (version >= 4), SCOPES * (version >= 6)
    wanted = struct.pack("=QQQ", every, network, scopes)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _call("syscall", CREATE_RULESET, ctypes.c_char_p(wanted), size, 0)
    try:
        for paths, rights in ((read, READ), (written, every)):
            for path in paths:
                _allow(rules, path, rights)
        _call("syscall", RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    """Add a path to the rules; one that does not exist is left out."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= -1 if path.is_dir() else RIGHTS_OF_FILES
        if path == Path("/dev/null"):
            rights |= 1 << 1
        rule = ctypes.c_char_p(struct.pack("=Qi", rights, handle))
        _call("syscall", ADD_RULE, rules, 1, rule, 0)
    finally:
        os.close(handle)


def _refuse_calls() -> None:
    """Have the kernel refuse calls that nothing here needs, by a seccomp filter."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOTSUP, f"no table of calls for {machine}")
    name, refused = ARCHITECTURES[machine]
    numbers = (*refused, *REFUSED_EVERYWHERE)
    count = len(numbers)
    steps = [  # of a jump: the operation, how many steps to skip if it holds and if not, with what
        (LOAD, 0, 0, 4),  # the architecture
        (JUMP_EQUAL, 0, count + 3, name),
        (LOAD, 0, 0, 0),  # the number of the call
        (JUMP_AT_LEAST, count + 1, 0, OTHER_INTERFACE),
        *((JUMP_EQUAL, count - place, 0, number) for place, number in enumerate(numbers)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(steps), ctypes.addressof(held))
    _call("prctl", SET_SECCOMP, FILTER_MODE, ctypes.c_char_p(program), 0, 0)


def _call(name: str, *arguments: int | ctypes.c_char_p | None) -> int:
    """A function of the C library that returns -1 where it fails.

    Raises
    ------
    OSError
        Where it fails.
    """
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    function.restype = ctypes.c_long
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    found = int(function(*words))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found
