# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Describe the kit's device to the lab: its names, its client, its messages in the kernel log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grader.base import paths, test_record
from grader.lab import guest_program
from grader.lab.guest_channel import AHEAD_BYTES
from grader.lab.log_diagnostics import LogPatterns
from grader.lab.machines import Contents, Running

NAME = "fibdrv"  # the name of the module in the kernel
NODE = "/dev/fibonacci"
KNOB = "/sys/class/fibonacci/fibonacci/ktime_measure"
CLIENT = "fibctl"
# The folder of modules in a machine.
MODULES = "/lib/fibdrv"

# The traces that must be gone after unloading, by the shell command that finds the trace.
LEFT_BEHIND = {
    f"test -e {NODE}": NODE,
    "test -e /sys/class/fibonacci": "/sys/class/fibonacci",
    "grep -qw fibonacci /proc/devices": "the device number (fibonacci in /proc/devices)",
}

DIALECT = LogPatterns(
    allocate="fib_alloc",
    free="fib_free",
    header_bytes=16,  # see common/account.c
    leak=r"leaves \d+ bytes in \d+ blocks? unfreed",
    meanings=(
        (r"leaves (\d+) bytes in (\d+) blocks? unfreed",
         r"by the driver's count, that call did not free \2 block(s) from fib_alloc, \1 bytes"),
        (r"the stage has changed the account",
         "the driver's count of blocks and bytes differs from struct fib_call, which only"
         " fib_alloc and fib_free may change"),
        (r"fib_alloc is given a call that is not",
         "fib_alloc must get the struct fib_call that the driver passed to the stage"),
        (r"decimal wrote past its (\d+) bytes",
         r"fib_decimal got a buffer of \1 bytes and wrote beyond its end"),
        (r"decimal does not keep to (\d+) bytes",
         r"fib_decimal got a buffer of \1 bytes, one too few; it must return -ERANGE and write"
         " nothing beyond the end"),
        (r"decimal returned (-\d+)(?: \(\w+\))? for a buffer of exactly its (\d+) bytes",
         r"the \2 digits fit into \2 bytes: fib_decimal must write them and return \2"),
        (r"decimal changes the number",
         "fib_decimal must not change the number, but a second conversion gave other digits"),
        (r"the stage returned (-?\d+(?: \(\w+\))?)",
         r"a stage may fail with -ENOMEM (-12) or -EINTR (-4) only, and \1 is neither"),
    ),
)  # fmt: skip


def client() -> Path:
    """Return the statically linked client."""
    sources = [paths.COMMON / name for name in ("batch.c", "spoken_pread.S")]
    sources += sorted(paths.COMMON.glob("fibctl*.c"))
    return guest_program.compiled(CLIENT, sources, [guest_program.GUEST])


def stress_client() -> Path:
    """Return the statically linked stress client."""
    folder = Path(__file__).resolve().parents[1] / "stress" / "client"
    failing = guest_program.GUEST / "fault_injection.c"
    return guest_program.compiled(
        "fibstress",
        [*sorted(folder.glob("*.c")), failing],
        [paths.COMMON, guest_program.GUEST, test_record.INCLUDE],
    )


def contents(
    modules: Mapping[str, Path],
    programs: Mapping[str, Path] | None = None,
    files: Mapping[str, Path] | None = None,
    vectors: bool = False,
) -> Contents:
    """Return a machine's files: modules in MODULES, programs and the client in /bin, other files.

    vectors: a module has vector files.
    """
    return Contents(
        {f"{MODULES}/{name}.ko": module for name, module in modules.items()}
        | dict(files or {})
        | {f"/bin/{name}": program for name, program in (programs or {}).items()}
        | {f"/bin/{CLIENT}": client(), "/etc/profile": Path(__file__).with_name("guest_profile")},
        NAME,
        (NODE, KNOB),
        vectors,
    )


def ask(
    guest: Running, requests: Iterable[str], timeout: float, ahead: int = AHEAD_BYTES
) -> Iterator[str]:
    """Send requests to the client's batch mode, see common/fibctl.h. Yield an answer for each.

    timeout, ahead: see GuestChannel.answers().
    """
    return guest.channel.stream_requests(f"{CLIENT} batch", requests, timeout, ahead=ahead)


def run_script(guest: Running, path: str, count: int, timeout: float) -> Iterator[str]:
    """Yield the answers to requests that a file holds, because the serial line is slow."""
    return guest.channel.run_script(f"{CLIENT} batch", path, count, timeout)
