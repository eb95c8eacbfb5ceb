# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Progress on standard error: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable

from grader.base import scratch

# Whose line is live: there is one terminal.
_live: Progress | None = None


def clear() -> bool:
    """Take away the line that is live, whosever it is; returns whether there was one."""
    if _live is None:
        return False
    _live.clear()
    return True


def _note(live: Progress | None) -> None:
    global _live  # noqa: PLW0603 - as the terminal is
    _live = live


class Progress:
    """What is being done, how far it is, how long it has taken."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.live = sys.stderr.isatty()
        self.shown = ""
        self.said: set[str] = set()
        self._lock = threading.Lock()

    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begin

    def step(self, what: str, count: int = 0, total: int = 0) -> None:
        """A step within something longer; off a terminal each `what` is said once."""
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
        """Return a function that shows the steps of something longer, as "what: step".

        A step is "name" or "name: detail". Off a terminal a detail is shown only with always.
        """

        def tell(step: str) -> None:
            shown = step if self.live or always else step.split(": ", maxsplit=1)[0]
            self.step(f"{what}: {shown}")

        return tell

    def say(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the live line away."""
        if self.shown:
            self.shown = ""
            _note(None)
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
