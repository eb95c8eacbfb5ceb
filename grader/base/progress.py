# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Show progress on standard error, as one live line on a terminal, else as plain lines."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable

from grader.base import scratch

# The owner of the live line; there is at most one, because there is one terminal.
_live: Progress | None = None


def clear() -> bool:
    """Erase the live line, whichever object owns it. Return whether a line was erased."""
    if _live is None:
        return False
    _live.clear()
    return True


def _note(live: Progress | None) -> None:
    global _live  # noqa: PLW0603 - there is only one terminal
    _live = live


class Progress:
    """A progress display with the current step, the number of steps and the elapsed time."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.live = sys.stderr.isatty()
        self.shown = ""
        self.said: set[str] = set()
        self._lock = threading.Lock()

    def elapsed(self) -> float:
        """Return the seconds since this object was made."""
        return time.monotonic() - self.begin

    def step(self, what: str, count: int = 0, total: int = 0) -> None:
        """Show a step. Without a terminal, print each distinct `what` only once."""
        scratch.check_stopped()
        with self._lock:
            self._step(what, count, total)

    def _step(self, what: str, count: int, total: int) -> None:
        if self.live:
            how_far = f" {count}/{total}" if total else ""
            line = f"[{self.elapsed():4.0f} s] {what}{how_far}"
            line = line[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write(f"\r\033[K{line}")
            sys.stderr.flush()
            self.shown = line
            _note(self)
        elif what not in self.said:
            print(f"[{self.elapsed():4.0f} s] {what}", file=sys.stderr, flush=True)
        self.said.add(what)

    def substeps(self, what: str, always: bool = False) -> Callable[[str], None]:
        """Return a function that shows the steps of a longer task, as "what: step".

        A step is "name" or "name: detail". Without a terminal, show a detail only if
        `always` is set.
        """

        def tell(step: str) -> None:
            shown = step if self.live or always else step.split(": ", maxsplit=1)[0]
            self.step(f"{what}: {shown}")

        return tell

    def say(self, text: str) -> None:
        """Print a line of text that is not erased later."""
        with self._lock:
            self.clear()
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the live line."""
        if self.shown:
            self.shown = ""
            _note(None)
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
