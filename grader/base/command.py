# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""End every command in the same way: clean up, print one line on failure, return an exit status.

The work of a command returns 0, or 1 if a stage failed. The exit status is 2 if the work could not
be done, 130 if a signal stopped the work, and 141 if the reader of the output has closed the pipe.
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
from grader.base.errors import CommandError, MachineError, in_one_line

UNDONE = 2
STOPPED = 128 + signal.SIGINT  # the exit status after any signal, not only after SIGINT
UNREAD = 128 + signal.SIGPIPE

STANDARD_OUTPUT = "standard output"
# After one of these errors the message suggests another folder for the results, by LAB_BUILD.
NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)


def end(name: str, work: Callable[[], int], stopped: str = "no process is left running") -> int:
    """Do the work of a command and return its exit status, even after an error or a signal.

    name begins the error message; stopped is the text that follows "stopped;" after a signal. The
    processes and folders of grader.base.scratch are removed before this function returns.
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
    except CommandError as error:
        status, why = UNDONE, str(error)
    except MachineError as error:
        status, why = UNDONE, f"the machine does not answer ({error}); run the command again"
    except OSError as error:
        gone = isinstance(error, BrokenPipeError) and _nobody_reads()
        status, why = (UNREAD, "") if gone else (UNDONE, _of_the_system(error))
    except Exception:
        _on_stderr(traceback.format_exc())
        status, why = UNDONE, "this is a bug in the kit; report the lines above"
    else:
        why = ""
    _on_stderr(f"{name}: {' '.join(why.splitlines())}\n" if why else "")
    # Flush now, because if this failed at exit, Python would print its own message and change the
    # status.
    for stream in (sys.stdout, sys.stderr):
        _flush_or_discard(stream)
    return status


def _open_what_is_closed() -> None:
    """Open closed standard streams on /dev/null, so that no other file gets their number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # open() returns the lowest free descriptor, which is the descriptor of the closed
            # stream.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


class _Output(io.TextIOWrapper):
    """Standard output, whose OSErrors have the filename STANDARD_OUTPUT."""

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
        # Write each line at once, so that a reader of a pipe sees the verdict when it is there.
        options = (old.encoding, old.errors, None, True, old.write_through)
        sys.stdout = _Output(old.detach(), *options)


def _status(work: Callable[[], int]) -> int:
    """Do the work, flush standard output and return the status of the work."""
    try:
        status = work()
    except SystemExit as request:  # argparse exits after it prints help or an error
        status = int(request.code or 0)
    sys.stdout.flush()
    return status


def _nobody_reads() -> bool:
    """Return whether standard output or standard error is a pipe whose read end is closed."""
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _of_the_system(error: OSError) -> str:
    """Describe a system error. Suggest another folder if the error is about the results."""
    where, action = error.filename, "correct this and run the command again"
    elsewhere = isinstance(where, str) and not paths.inside(Path(where), paths.BUILD)
    if error.errno in NO_PLACE and not elsewhere:
        action = "free some space, or set LAB_BUILD to another folder"
    return f"{in_one_line(error)}; {action}"


def _on_stderr(text: str) -> None:
    """Print text after all output on stdout, replacing the progress line; ignore write errors."""
    _flush_or_discard(sys.stdout)
    try:
        if not progress.clear() and text and sys.stderr.isatty():
            text = f"\n{text}"  # After ^C, which a terminal echoes, begin a new line.
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
