# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How every command line ends: cleaned up, one line that says why, and an exit status.

0 and 1 are what the work itself says: 1 is that a stage failed, and nothing else. 2 is that the
work could not be done, 130 that a signal has stopped it, 141 that nobody reads what it prints.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from grader.base import paths, progress, scratch
from grader.base.errors import HostFault, LabError, MachineError, in_one_line

UNDONE = 2
STOPPED = 128 + signal.SIGINT  # whichever signal it was
UNREAD = 128 + signal.SIGPIPE

STANDARD_OUTPUT = "standard output"
# What another place for the results helps against.
NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
OTHER_PLACE = "free some space, or set LAB_BUILD to another folder"


def end(name: str, work: Callable[[], int], stopped: str = "nothing is left running") -> int:
    """Do the work of a command line and return its exit status, whatever happens.

    name begins the line that is said when it does not go well; stopped says how things stand after
    a signal. Processes and folders of grader.base.scratch are gone when it returns.
    """
    _open_what_is_closed()
    _know_standard_output()
    scratch.heed_signals()
    try:
        try:
            status = _status(work)
        finally:
            try:
                scratch.ignore_signals()
            finally:
                scratch.remove_all(for_good=True)
    except KeyboardInterrupt:
        status, why = STOPPED, f"stopped; {stopped}"
    except (LabError, HostFault) as error:
        status, why = UNDONE, str(error)
    except MachineError as error:
        status, why = UNDONE, f"the machine does not answer ({error})"
    except OSError as error:
        gone = isinstance(error, BrokenPipeError) and _nobody_reads()
        status, why = (UNREAD, "") if gone else (UNDONE, _of_the_system(error))
    except Exception:
        _on_stderr(traceback.format_exc())
        status, why = UNDONE, "this is a fault of the kit's own, see above"
    else:
        why = ""
    _on_stderr(f"{name}: {' '.join(why.splitlines())}\n" if why else "")
    # Python's own end writes out what is left, and would add words and a status of its own.
    for stream in (sys.stdout, sys.stderr):
        _flush_or_discard(stream)
    return status


def _open_what_is_closed() -> None:
    """Have all three standard streams: a file that took the place of one would get its text."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is the one that is closed.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


class _Output(io.TextIOWrapper):
    """Standard output, whose errors say that they are its own."""

    def write(self, text: str) -> int:
        with _named():
            return super().write(text)

    def flush(self) -> None:
        with _named():
            super().flush()


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = STANDARD_OUTPUT
        raise


def _know_standard_output() -> None:
    old = sys.stdout
    if isinstance(old, io.TextIOWrapper):
        as_before = (old.encoding, old.errors, None, old.line_buffering, old.write_through)
        sys.stdout = _Output(old.detach(), *as_before)


def _status(work: Callable[[], int]) -> int:
    """The work's status, when all that it prints has gone where it belongs."""
    try:
        status = work()
    except SystemExit as request:  # argparse has shown its help, or what is wrong
        if isinstance(request.code, str):
            raise LabError(request.code) from None
        status = request.code or 0
    sys.stdout.flush()
    return status


def _nobody_reads() -> bool:
    """Whether standard output or error is a pipe whose other end is closed."""
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _of_the_system(error: OSError) -> str:
    """What the system has refused, and what helps where the kit's own results are meant."""
    said, where = in_one_line(error), error.filename
    if error.errno not in NO_PLACE or where == STANDARD_OUTPUT:
        return said
    if isinstance(where, str) and not paths.inside(Path(where), paths.BUILD):
        return said
    return f"{said}; {OTHER_PLACE}"


def _on_stderr(text: str) -> None:
    """Say it below what stdout has got, and in place of the progress; there may be nobody."""
    _flush_or_discard(sys.stdout)
    try:
        if not progress.clear() and text and sys.stderr.isatty():
            text = f"\n{text}"  # a terminal shows ^C where it was pressed
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        pass


def _flush_or_discard(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
        stream.flush()
