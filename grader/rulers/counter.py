# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count the instructions of a call, exactly, in a machine whose TSC counts instructions.

What is left to move a count there, and what is done about it:

- The timer's tick, 2,500 to 3,000 instructions every 4,000,000. Each measurement begins just
  behind a tick (the machine wakes sleepers by ticks only). What is shorter than the way to the
  next has none in it; what is longer has the same number each time, 0.075 % at most.
- The serial line's interrupts. The requests are a file in the machine, the answers too, and
  nothing is said while it measures.
- What the kernel's allocator has at hand. A warm-up of the same size comes first and is thrown
  away, blocks are held by few calls at a time, and the median of several measurements counts.

Always the same n: no spread. A stage that remembers a result is caught by the contract (it has
nowhere to keep it), and by the ns ruler, which varies n.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from grader.base.errors import MachineDied, MachineError, MachineTimeout
from grader.lab import kernel_log
from grader.lab.machines import Machine, Running
from grader.rulers.clock import PHASES, Samples, Series
from grader.stage import oracle, system_calls
from grader.stage.build import Built
from grader.stage.verify import CALL_TIMEOUT, Failure, Verified

# Two counts that differ by less than this part are the same: three times the most that was ever
# seen between boots, builds and loads of the host (0.03 %), and more than all ticks' share.
RESOLUTION = 0.001

# What a measurement should cost with all that is around it, well below a tick's 4,000,000.
WINDOW = 1_500_000
MAX_REPEAT = 1024
# With allocations: a batch holds its numbers until its end, which no other user would, and with
# 64 of them held the slabs' state shows: 2.5 % at n = 1,000 in stage 7. With 16, 0.001 %.
MAX_REPEAT_ALLOCATING = 16
MEASUREMENTS = 5
# A call above this is measured less often: a tick more or less no longer matters.
LONG = 30_000_000
LONG_MEASUREMENTS = 3
# Above this, once: ten seconds otherwise.
ENDLESS = 200_000_000
# A call that would take more is left out.
LIMIT = 2_000_000_000
# Instructions of the hash that the driver takes of the digits, for each digit.
HASH = 6
# Emulated instructions a second on a slow and busy computer, for time-outs.
SLOWEST = 15_000_000


@dataclass(frozen=True)
class LeftOut:
    """An n that was not measured: what one call would take, by what a smaller n took."""

    key: str
    n: int
    instructions: float


class _Wrong(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.title)
        self.failure = failure


def measure_exact(
    machine: Machine,
    results: list[Verified],
    seed: int,
    tell: Callable[[str, int, int], None],
    limit: float = LIMIT,
) -> tuple[Samples, list[LeftOut]]:
    """Instructions per call of each stage that is right so far, by stage, phase and n.

    All in one machine; a stage that fails here ends so, and the others begin anew without it.
    """
    rng = random.Random(seed)
    running = [r for r in results if r.status == "ok"]
    while running:
        samples: Samples = {}
        left_out: list[LeftOut] = []
        culprit = _all_stages(machine, running, rng, samples, left_out, tell, limit)
        if culprit is None:
            return samples, left_out
        running.remove(culprit)
    return {}, []


def differ(before: float, after: float) -> bool:
    """Whether two counts differ by more than the ruler can be wrong."""
    return abs(before - after) > RESOLUTION * min(before, after)


def _all_stages(
    machine: Machine,
    running: list[Verified],
    rng: random.Random,
    samples: Samples,
    left_out: list[LeftOut],
    tell: Callable[[str, int, int], None],
    limit: float,
) -> Verified | None:
    """All stages in one machine; returns the one that went wrong, if one did."""
    guest = machine.boot({r.built.stage.key: r.built.stripped for r in running})
    current = running[0]
    try:
        for i, current in enumerate(running):
            tell("count instructions", i, len(running))
            _stage(guest, current.built, rng, samples, left_out, limit)
            finding = kernel_log.dirt(guest.console(), current.built.module)
            if finding:
                current.end("dirty-log", f"count: {finding.cause}", finding.excerpt)
                return current
        return None
    except _Wrong as error:
        current.fails(error.failure)
        return current
    except MachineTimeout as error:
        current.end("timeout", f"count: {error}", kernel_log.excerpt(guest.console()))
        return current
    except MachineError as error:
        if isinstance(error, MachineDied) or not guest.alive():
            crash = kernel_log.crash(guest.console(), current.built.module)
            current.end("crashed", f"count: {crash.cause}", crash.excerpt)
        else:
            current.end("wrong", f"count: {error}", kernel_log.excerpt(guest.console()))
        return current
    finally:
        guest.stop()


def _stage(
    guest: Running,
    built: Built,
    rng: random.Random,
    samples: Samples,
    left_out: list[LeftOut],
    limit: float,
) -> None:
    """Load a stage, measure every n of its manifest, unload it."""
    timeout = CALL_TIMEOUT * guest.speed_factor
    key = built.stage.key
    guest.wire.check(f"insmod /lib/fibdrv/{key}.ko", timeout)
    last_n, last_cost = 0, 0.0
    for n in sorted(built.stage.manifest.measure):
        # Schoolbook arithmetic: no stage's cost grows faster than by the square of n.
        expected = last_cost * (n / last_n) ** 2 if last_n else 0.0
        if expected > limit:
            left_out.append(LeftOut(key, n, expected))
            continue
        patience = timeout + 2 * max(expected, LONG) / SLOWEST
        first = _ask(guest, n, 1, 1, rng, patience)[0]
        cost = float(first["compute_cycles"] + first["decimal_cycles"])
        last_n, last_cost = n, cost
        repeat = _repeat(n, first)
        if cost > ENDLESS:
            counted = [first]
        elif cost > WINDOW:
            again = LONG_MEASUREMENTS if cost > LONG else MEASUREMENTS
            patience = timeout + 2 * again * cost / SLOWEST
            counted = _ask(guest, n, 1, again, rng, patience)
        else:
            counted = _ask(guest, n, repeat, 1 + MEASUREMENTS, rng, timeout)[1:]
        for phase in PHASES:
            if min(answer[f"{phase}_cycles"] for answer in counted) < repeat:
                title = f"the count of {phase}, F({n}), {repeat} times"
                got = f"{min(answer[f'{phase}_cycles'] for answer in counted)} instructions"
                raise _Wrong(Failure("measure", n, "one a call or more", got, title))
            samples[key, phase, n] = Series(
                [answer[f"{phase}_cycles"] / repeat for answer in counted],
                counted[0][f"{phase}_allocations"] / repeat,
                counted[0]["peak_bytes"],
            )
    guest.wire.check("rmmod fibdrv", timeout)


def _repeat(n: int, first: dict[str, int]) -> int:
    """How many calls fit between two ticks."""
    cost = first["compute_cycles"] + first["decimal_cycles"] + HASH * first["digits"]
    allocates = first["compute_allocations"] or first["decimal_allocations"]
    most = MAX_REPEAT_ALLOCATING if allocates else MAX_REPEAT
    return max(1, min(most, WINDOW // max(cost, 1)))


def _ask(
    guest: Running, n: int, repeat: int, times: int, rng: random.Random, timeout: float
) -> list[dict[str, int]]:
    """Measure F(n) some times, each right behind a tick; the answers, checked."""
    nonces = [rng.getrandbits(64) for _ in range(times)]
    lines = ["open 0 rw"]
    for nonce in nonces:
        lines += ["tick", f"measure 0 n={n} spread=0 repeat={repeat} nonce={nonce}"]
    guest.wire.put("/tmp/requests", "\n".join([*lines, "quit", ""]).encode(), timeout)
    command = "fibctl batch </tmp/requests >/tmp/answers; cat /tmp/answers"
    answers = guest.wire.check(command, timeout).splitlines()
    # One answer to open, two for each measurement: to tick and to measure. A measurement that
    # does not begin behind a tick is off by up to 0.8 %: not to be taken in silence.
    if len(answers) != 1 + 2 * times or set(answers[:1] + answers[1::2]) != {"0"}:
        raise MachineError(f"fibctl batch: {answers[-1] if answers else 'no answer'}")
    return [_checked(a, n, repeat, nonce) for a, nonce in zip(answers[2::2], nonces)]


def _checked(answer: str, n: int, repeat: int, nonce: int) -> dict[str, int]:
    got = system_calls.fields(answer)
    want = oracle.digest(n, 0, repeat, nonce)
    title = f"a count of F({n}), {repeat} times"
    if got["returned"]:
        raise _Wrong(Failure("measure", n, "0", str(got["returned"]), title))
    if got["digest"] != want or got["digits"] != oracle.digit_total(n, 0, repeat):
        raise _Wrong(Failure("measure", n, f"digest {want:016x}", f"{got['digest']:016x}", title))
    return got


def instructions(series: Series) -> float:
    """The count that stands for a series."""
    return statistics.median(series.values)
