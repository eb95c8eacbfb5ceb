# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Share one machine between tests, until a test may have damaged its state."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from grader.base.errors import MachineError
from grader.lab.machines import NOTHING, Contents, Machine, Running

# If one of these words is in the kernel log, the machine must not be used again.
DOUBT = re.compile(r"panic|BUG|WARNING|Oops|Call Trace|KASAN|fault at|hung")
SECONDS = 10.0
# The time limit, in seconds, for removing the modules after a test. A machine that exceeds it may
# hang without a message in the log, so it is ended. If it was only slow, this costs one boot.
REMOVAL_SECONDS = 2.0
# The command that lists the entries that a module adds to the system and must remove.
PLACES = "ls /sys/class /sys/module /dev; cat /proc/devices"


class Shared:
    """A machine that is booted once and that tests use one after the other."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.boots = 0
        self.uses = 0
        self._guest: Running | None = None
        self._files: dict[str, str] = {}  # The digests of the machine's files, keyed by path.
        self._places = ""  # The output of the command PLACES after the boot.

    def __getattr__(self, name: str) -> Any:
        return getattr(self.machine, name)

    def boot(self, contents: Contents = NOTHING) -> Use:
        """Copy the files into the running machine, or boot a machine with them. Return a Use."""
        self.uses += 1
        if self._guest is None:
            self._guest = self.machine.boot(contents)
            self._files = {path: _digest(file) for path, file in contents.files.items()}
            self._places = self._guest.channel.check(PLACES, SECONDS)
            self.boots += 1
        for path, file in contents.files.items():
            if self._files.get(path) != _digest(file):
                self._guest.channel.check(f"mkdir -p {Path(path).parent}; rm -f {path}", SECONDS)
                self._guest.channel.put(path, file.read_bytes(), SECONDS)
                self._guest.channel.check(f"chmod 755 {path}", SECONDS)
                self._files[path] = _digest(file)
        return Use(self, self._guest)

    def returned(self, said: str) -> None:
        """Keep the machine if its modules can be removed without a trace; otherwise end it."""
        if self._guest is None:
            return
        try:
            if not DOUBT.search(said) and self._guest.alive():
                remove = "for m in $(cut -d' ' -f1 /proc/modules); do rmmod $m || exit; done"
                self._guest.channel.check(remove, REMOVAL_SECONDS)
                if self._guest.channel.check(PLACES, REMOVAL_SECONDS) == self._places:
                    return
        except MachineError:
            pass
        self.end()

    def end(self) -> None:
        """End the machine."""
        if self._guest is not None:
            self._guest.stop()
            self._guest = None


class Use:
    """The use of the machine by one test, with a separate log."""

    def __init__(self, shared: Shared, guest: Running) -> None:
        self._shared = shared
        self._guest = guest
        self._before = len(guest.console()) if shared.uses > 1 else 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._guest, name)

    def console(self) -> str:
        """Return the kernel messages since the test began."""
        return self._guest.console()[self._before :]

    def stop(self) -> None:
        """End this use and return the machine to the other tests."""
        self._shared.returned(self.console())


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
