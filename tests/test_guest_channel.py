# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the channel protocol with a fake agent at the other end of two FIFOs."""

from __future__ import annotations

import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.base.errors import LabError, MachineDied, MachineError, MachineTimeout
from grader.lab import guest_channel
from grader.lab.guest_channel import AHEAD_BYTES, PUT_BYTES, Deadline, GuestChannel


class Agent:
    """The guest's end of the channel. It reads lines and sends the text that a test gives."""

    def __init__(self, folder: Path) -> None:
        self.paths = folder / "in", folder / "out"
        for path in self.paths:
            os.mkfifo(path)
        self.alive = True
        # Open both FIFOs for reading and writing, because open() then does not block.
        self.input = os.fdopen(os.open(self.paths[0], os.O_RDWR), "rb", buffering=0)
        self.output = os.open(self.paths[1], os.O_RDWR)
        self.channel = GuestChannel(*self.paths, lambda: self.alive)
        self.thread: threading.Thread | None = None
        # This event ends the thread. It is set before the FIFOs are closed.
        self.over = threading.Event()
        self.errors: list[BaseException] = []

    def line(self) -> str:
        """Return the next line from the grader, without its checksum."""
        line = self.bare_line()
        checksum, _, request = line.partition(" ")
        if checksum != f"{zlib.adler32(request.encode()):08x}":
            return line  # Lines for the client have no checksum.
        return request

    def bare_line(self) -> str:
        """Return the next line from the grader, including its checksum."""
        text = b""
        while not text.endswith(b"\n"):
            text += self.input.read(1)
        return text.decode().rstrip("\n")

    def say(self, text: str) -> None:
        """Send the text unchanged."""
        data = text.encode()
        while data:
            data = data[os.write(self.output, data) :]

    def plays(self, part: Callable[[], None]) -> None:
        """Run the agent's part of a test in a thread."""

        def run() -> None:
            try:
                part()
            except BaseException as error:
                self.errors.append(error)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def command(self) -> tuple[str, str, str]:
        """Read a command, announce that it begins, and return its verb, name and rest."""
        verb, name, rest = self.line().split(" ", 2)
        self.say(f"\x01{name}\n")
        return verb, name, rest


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path)
    yield agent
    agent.over.set()
    if agent.thread:
        agent.thread.join()
    agent.channel.close()
    os.close(agent.output)
    assert not agent.errors


def test_ready(agent: Agent) -> None:
    agent.plays(lambda: agent.say("boot noise\n\x02ready 0\n"))
    agent.channel.wait_ready(2)


def test_run(agent: Agent) -> None:
    def part() -> None:
        verb, name, rest = agent.command()
        assert (verb, rest) == ("run", "echo a b; false")
        agent.say("a b\n")
        agent.say(f"\x02{name} 1\n")

    agent.plays(part)
    result = agent.channel.run("echo a b; false", 2)
    assert (result.status, result.output) == (1, "a b\n")


def test_output_in_pieces_and_not_utf8(agent: Agent) -> None:
    def part() -> None:
        _, name, _ = agent.command()
        os.write(agent.output, b"caf\xe9 ")
        for piece in ("x", "\x02", name[:5], name[5:], " ", "0", "\n"):
            time.sleep(0.01)
            agent.say(piece)

    agent.plays(part)
    result = agent.channel.run("x", 2)
    assert (result.status, result.output) == (0, "caf� x")


def test_an_answer_cannot_be_forged(agent: Agent) -> None:
    """A command cannot forge the end of its output, because it does not know its random name."""

    def part() -> None:
        _, name, _ = agent.command()
        agent.say("\x02ready 0\n\x020123456789abcdef 0\n")
        agent.say(f"\x02{name} 7\n")

    agent.plays(part)
    assert agent.channel.run("x", 2).status == 7


def test_what_came_too_late_is_passed_over(agent: Agent) -> None:
    agent.say("the rest of a command that was killed\n\x02feedfeedfeedfeed 137\n")

    def part() -> None:
        _, name, _ = agent.command()
        agent.say(f"new\n\x02{name} 0\n")

    agent.plays(part)
    assert agent.channel.run("x", 2).output == "new\n"


def test_a_damaged_request_is_sent_again(agent: Agent) -> None:
    def part() -> None:
        lines = {agent.bare_line()}
        name = lines.copy().pop().split()[2]
        for _ in range(2):
            agent.say(f"\x03stray\n\x03{name}\n")
            lines.add(agent.bare_line())
        assert len(lines) == 1
        agent.say(f"\x01{name}\ngood\n\x02{name} 0\n")
        for _ in range(4):
            agent.say(f"\x03{agent.line().split()[1]}\n")

    agent.plays(part)
    assert agent.channel.run("x", 2).output == "good\n"
    with pytest.raises(LabError, match="damages requests; run the command again"):
        agent.channel.run("x", 2)


def test_check(agent: Agent) -> None:
    def part() -> None:
        for status in (0, 1):
            _, name, _ = agent.command()
            agent.say(f"said\n\x02{name} {status}\n")

    agent.plays(part)
    assert agent.channel.check("good", 2) == "said\n"
    with pytest.raises(MachineError, match=r"^bad: exit 1: said$"):
        agent.channel.check("bad", 2)


def test_no_answer(agent: Agent) -> None:
    begin = time.monotonic()
    with pytest.raises(MachineTimeout):
        agent.channel.run("x", 0.3)
    assert time.monotonic() - begin >= 0.3


def test_an_answer_that_never_ends(agent: Agent) -> None:
    """The time limit applies to the whole command, and output does not extend it."""

    def part() -> None:
        agent.command()
        for _ in range(100):
            agent.say("still there\n")
            if agent.over.wait(0.1):
                return

    agent.plays(part)
    begin = time.monotonic()
    with pytest.raises(MachineTimeout):
        agent.channel.run("x", 0.5)
    assert time.monotonic() - begin < 8  # the agent would send output for 10 s


def test_death(agent: Agent) -> None:
    def part() -> None:
        agent.command()
        agent.alive = False

    agent.plays(part)
    begin = time.monotonic()
    with pytest.raises(MachineDied):
        agent.channel.run("x", 60)
    assert time.monotonic() - begin < 40


def test_last_words_before_death_count(agent: Agent) -> None:
    def part() -> None:
        _, name, _ = agent.command()
        agent.say(f"last\x02{name} 0\n")
        agent.alive = False

    agent.plays(part)
    assert agent.channel.run("x", 2).output == "last"


@pytest.mark.timeout(60)
def test_a_hurried_answer_has_less_time(agent: Agent) -> None:
    """The limit is shorter from the moment on when hurried() returns one, not from the start."""
    begun = threading.Event()
    agent.channel.hurried = lambda: 0.1 if begun.is_set() else None

    def part() -> None:
        agent.command()
        time.sleep(0.5)  # longer than the shorter limit
        begun.set()

    agent.plays(part)
    with pytest.raises(MachineTimeout):
        agent.channel.run("x", 600)
    assert begun.is_set()


def test_a_machine_that_takes_nothing(agent: Agent) -> None:
    """Sending to a full FIFO raises MachineTimeout, or MachineDied if the machine has ended."""
    with pytest.raises(MachineTimeout, match="accepts no more"):
        agent.channel.run("x" * 200_000, 0.3)
    agent.alive = False
    with pytest.raises(MachineDied):
        agent.channel.run("x", 5)


@pytest.mark.parametrize("size", [0, 1, PUT_BYTES, 2 * PUT_BYTES + 5])
def test_put(agent: Agent, size: int) -> None:
    content = os.urandom(size)
    stored = bytearray()

    def part() -> None:
        while len(stored) < size or not size:
            verb, name, path, offset, count = agent.line().split()
            assert (verb, path, int(offset)) == ("put", "/tmp/file", len(stored))
            while len(stored) < int(offset) + int(count):
                stored.extend(agent.input.read(int(offset) + int(count) - len(stored)))
            agent.say(f"\x02{name} 0\n")
            if not size:
                return

    agent.plays(part)
    agent.channel.put("/tmp/file", content, 2)
    assert bytes(stored) == content


def test_put_that_fails(agent: Agent) -> None:
    agent.plays(lambda: agent.say(f"\x02{agent.line().split()[1]} 1\n"))
    with pytest.raises(MachineError, match="/tmp/file: the machine could not store it"):
        agent.channel.put("/tmp/file", b"", 2)


def echo(agent: Agent, most: list[int]) -> None:
    """Answer each request of a batch. Record the number of waiting bytes in the list `most`."""
    _, name, _ = agent.command()
    waiting = b""
    while True:
        # Wait until all requests that the grader sends in advance have arrived.
        time.sleep(0.005)
        waiting += os.read(agent.input.fileno(), 65536)
        most.append(len(waiting))
        while b"\n" in waiting:
            line, waiting = waiting.split(b"\n", 1)
            if line == b"quit":
                agent.say(f"\x02{name} 0\n")
                return
            agent.say(f"{line.decode()}!\n")


def test_batch(agent: Agent) -> None:
    """Answers are in order. Requests sent in advance never exceed the line buffer of a terminal."""
    requests = [f"pread 0 {n // 4 + 64} {n}" for n in range(1500)]
    most: list[int] = []
    agent.plays(lambda: echo(agent, most))
    answers = list(agent.channel.stream_requests("fibctl batch", requests, 5))
    assert answers == [f"{request}!" for request in requests]
    assert AHEAD_BYTES // 2 < max(most) <= AHEAD_BYTES + len("quit\n")


def test_empty_batch(agent: Agent) -> None:
    agent.plays(lambda: echo(agent, []))
    assert list(agent.channel.stream_requests("fibctl batch", [], 5)) == []


def test_batch_timeout_is_for_one_answer(agent: Agent) -> None:
    def part() -> None:
        agent.command()
        for _ in range(4):
            time.sleep(0.3)
            agent.say(f"{agent.line()}\n")

    agent.plays(part)
    answers = agent.channel.stream_requests("fibctl batch", ["a", "b", "c", "d", "e"], 0.8)
    assert [next(answers) for _ in range(4)] == ["a", "b", "c", "d"]
    with pytest.raises(MachineTimeout):
        next(answers)


def test_a_computer_that_stands_still_is_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline does not count time in which the computer is suspended or runs other processes."""
    now = 1000.0
    late = iter([0.0, 300.0, 0.3])

    def select(_read: list[int], _write: list[int], _rest: list[int], wait: float) -> object:
        nonlocal now
        now += wait + next(late, 0.0)
        return [], [], []

    monkeypatch.setattr(guest_channel.select, "select", select)
    monkeypatch.setattr(guest_channel.time, "monotonic", lambda: now)
    deadline = Deadline(1.0)
    waited = 0
    while not deadline.expired():
        assert not deadline.select([0], [])
        waited += 1
    assert 5 <= waited <= 6


@pytest.mark.parametrize(("starved", "low", "high"), [(0.0, 0.4, 0.4), (0.1, 0.6, 2), (9.0, 2, 4)])
def test_a_guest_that_waits_for_a_processor_has_more_time(
    monkeypatch: pytest.MonkeyPatch, starved: float, low: float, high: float
) -> None:
    """The time limit does not count time in which the guest waits for a processor."""
    now = 1000.0

    def select(_read: list[int], _write: list[int], _rest: list[int], wait: float) -> object:
        nonlocal now
        now += wait
        return [], [], []

    monkeypatch.setattr(guest_channel.select, "select", select)
    monkeypatch.setattr(guest_channel.time, "monotonic", lambda: now)
    deadline = Deadline(0.4, lambda: starved)
    while not deadline.expired():
        deadline.select([], [])
    assert low - 0.01 <= now - 1000.0 <= high + 0.01


def test_batch_that_ends_early(agent: Agent) -> None:
    def part() -> None:
        _, name, _ = agent.command()
        agent.line()
        agent.say(f"a\n\x02{name} 139\n")

    agent.plays(part)
    answers = agent.channel.stream_requests("fibctl batch", ["a", "b"], 2)
    assert next(answers) == "a"
    with pytest.raises(MachineError, match="fibctl ended early, exit 139"):
        next(answers)


def test_batch_that_fails_at_its_end(agent: Agent) -> None:
    def part() -> None:
        _, name, _ = agent.command()
        agent.say(f"{agent.line()}\n")
        assert agent.line() == "quit"
        agent.say(f"\x02{name} 2\n")

    agent.plays(part)
    with pytest.raises(MachineError, match="fibctl batch: exit 2"):
        list(agent.channel.stream_requests("fibctl batch", ["a"], 2))


def test_batch_in_a_machine_that_dies(agent: Agent) -> None:
    def part() -> None:
        agent.command()
        agent.say("a\n")
        agent.alive = False

    agent.plays(part)
    answers = agent.channel.stream_requests("fibctl batch", ["a", "b"], 30)
    assert next(answers) == "a"
    with pytest.raises(MachineDied):
        next(answers)


def test_requests_that_are_on_board(agent: Agent) -> None:
    """If the guest has a file of requests, the grader sends only a command that reads the file."""

    def part() -> None:
        _, name, command = agent.command()
        assert command == "exec fibctl batch </lib/requests"
        agent.say(f"a\nb\n\x02{name} 0\n")
        _, name, _ = agent.command()
        agent.say(f"a\n\x02{name} 139\n")
        _, name, _ = agent.command()
        agent.say(f"a\n\x02{name} 2\n")

    agent.plays(part)
    assert list(agent.channel.run_script("fibctl batch", "/lib/requests", 2, 5)) == ["a", "b"]
    with pytest.raises(MachineError, match="fibctl ended early, exit 139"):
        list(agent.channel.run_script("fibctl batch", "/lib/requests", 2, 5))
    with pytest.raises(MachineError, match="fibctl batch: exit 2"):
        list(agent.channel.run_script("fibctl batch", "/lib/requests", 1, 5))


def test_kill(agent: Agent) -> None:
    agent.channel.kill_command()
    assert agent.line() == "kill"
