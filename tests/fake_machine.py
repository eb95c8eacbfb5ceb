# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Provide a fake machine for tests of verification. A given function supplies its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from grader.base import paths
from grader.base.errors import MachineError
from grader.exercise.conformance import system_calls, verify
from grader.exercise.files import expected_values, stages
from grader.lab.guest_channel import GuestCommandResult
from grader.lab.machines import Contents

STAGE = stages.find(paths.STAGES, [1])[0]
CASES = system_calls.cases(STAGE.manifest)
Answer = Callable[[str, int], str]


def right(request: str, time: int) -> str:
    """Answer like a correct stage. `time` is the number of earlier identical requests."""
    verb, *words = request.split()
    same = [case for case in CASES if case.request == request][time : time + 1]
    if same and same[0].accepts is None:
        return f"{same[0].expected}\n"
    if request.endswith("half"):
        return "-14 3 -\n"
    if request == "open 0 r":
        return "0\n"
    if verb == "measure":
        got = dict(n="0", spread="0", repeat="1", nonce="0")
        got.update(dict(word.split("=") for word in words[1:]))
        n, spread, repeat, nonce = (int(got[k]) for k in ("n", "spread", "repeat", "nonce"))
        wrong = {"flags", "size", "reserved", "address"} & set(got)
        if wrong or n > 93 or not 1 <= repeat <= 1 << 20 or spread > n:
            return f"{-14 if 'address' in got else -22} digest=0 digits=0 limbs=0\n"
        digest = expected_values.digest(n, spread, repeat, nonce)
        return (
            f"0 digest={digest} digits={expected_values.digit_total(n, spread, repeat)} limbs=1\n"
        )
    if verb == "pread":
        digits = expected_values.digits(int(words[2]))
        residue, _, modulus = words[-1].removeprefix("known=").partition("/")
        known = modulus and int(digits) % int(modulus) == int(residue)
        return f"{len(digits)} {len(digits)} {'=' if known else digits}\n"
    if verb == "verify":
        return "0 0\n"
    if verb in ("write", "pwrite"):
        return "250\n"
    raise AssertionError(request)


class FakeChannel:
    """A fake channel that gets its answers from a function and records the order of requests."""

    def __init__(self, answer: Answer, commands: dict[str, object]) -> None:
        self.answer = answer
        self.commands = commands
        self.seen: dict[str, int] = {}
        self.files: dict[str, str] = {}

    def run_script(self, client: str, path: str, count: int, timeout: float) -> Iterator[str]:
        requests = self.files[path].splitlines()
        assert len(requests) == count
        return self.stream_requests(client, requests, timeout)

    def stream_requests(
        self, client: str, requests: Iterable[str], timeout: float, ahead: int = 0
    ) -> Iterator[str]:
        assert client == "fibctl batch"
        for request in requests:
            time = self.seen.get(request, 0)
            self.seen[request] = time + 1
            yield self.answer(request, time)

    def run(self, command: str, timeout: float) -> GuestCommandResult:
        for start, result in self.commands.items():
            if command.startswith(start):
                if isinstance(result, Exception):
                    raise result
                assert isinstance(result, GuestCommandResult)
                return result
        # Simulate a module that cleans up completely, and an rmmod that fails while a file is open.
        fails = command.startswith(("test -e", "grep", "exec 3<"))
        return GuestCommandResult(1 if fails else 0, "")

    def check(self, command: str, timeout: float) -> str:
        command_result = self.run(command, timeout)
        if command_result.status:
            raise MachineError(
                f"{command}: exit {command_result.status}: {command_result.output.strip()}"
            )
        return command_result.output


class FakeGuest:
    """A fake guest. A parameter of its constructor decides whether it is alive."""

    speed_factor = 1.5

    def __init__(self, channel: FakeChannel, console: str, alive: bool) -> None:
        self.channel = channel
        self.text = console
        self.is_alive = alive
        self.stopped = False

    def console(self) -> str:
        return self.text

    def killed(self) -> bool:
        return False

    def owner_as_made(self, uid: int, gid: int) -> tuple[int, int]:
        return uid, gid

    def alive(self) -> bool:
        return self.is_alive

    def stop(self) -> None:
        self.stopped = True


class FakeMachine:
    """A fake machine whose boot() returns a given guest."""

    name = "fake"
    metric = "ns"
    debug = False
    cpus = 1
    is_host = False

    def __init__(
        self,
        answer: Answer = right,
        commands: dict[str, object] | None = None,
        console: str = "",
        alive: bool = True,
    ) -> None:
        self.guest = FakeGuest(FakeChannel(answer, commands or {}), console, alive)
        self.booted = 0

    def boot(self, contents: Contents) -> FakeGuest:
        self.booted += 1
        # Keep only the file of requests, because the fake machine reads no other file.
        wanted = {verify.READS: contents.files[verify.READS]}
        self.guest.channel.files = {name: path.read_text() for name, path in wanted.items()}
        return self.guest
