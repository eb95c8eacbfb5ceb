# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure stages by the clock of a machine's kernel, in rounds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from grader.base.errors import MachineDied, MachineError, MachineTimeout
from grader.lab import kernel_log
from grader.lab.machines import Machine, Running
from grader.rulers.stats import FEWEST
from grader.stage import oracle, system_calls
from grader.stage.build import Built
from grader.stage.verify import CALL_TIMEOUT, Failure, Verified

PHASES = ("compute", "decimal")

# The clock in the lab kernel moves in steps of 256 ns: no phase is timed for less than this.
SHORTEST_PHASE_NS = 200_000
# What one measurement should take, and the most that a large n may use in all rounds.
BATCH_NS = 2_000_000
BUDGET_NS = 1_500_000_000
MAX_REPEAT = 1 << 20
# A round measures so many times and keeps the least: what disturbs a batch makes it longer.
BATCHES = 5


@dataclass
class Series:
    """The rounds of one stage, phase and n: time per call, in the ruler's unit."""

    values: list[float] = field(default_factory=list)
    allocations: float = 0.0
    peak_bytes: int = 0
    shortest_batch: float = math.inf  # in the ruler's unit, all repetitions of it


# By directory name of the stage, phase, n.
Samples = dict[tuple[str, str, int], Series]


def spread_of(n: int) -> int:
    """How far n varies within a batch, so that remembering a number earns nothing."""
    return min(7, n // 100)


@dataclass(frozen=True)
class Plan:
    """One measurement: n, how many repetitions a round, in how many rounds."""

    n: int
    repeat: int
    rounds: int


def _request(n: int, repeat: int, nonce: int) -> str:
    return f"measure 0 n={n} spread={spread_of(n)} repeat={repeat} nonce={nonce}"


class _Session:
    """One machine with all stages at hand, of which one is loaded at a time."""

    def __init__(self, guest: Running, rng: random.Random) -> None:
        self.guest = guest
        self.rng = rng
        self.timeout = CALL_TIMEOUT * guest.speed_factor

    def measure(
        self, built: Built, wanted: list[tuple[int, int]], batches: int = 1
    ) -> Iterator[dict[str, int]]:
        """Load a stage, measure each (n, repeat), unload it.

        Yields the checked answers, of each so many batches the one with the least times.
        """
        wire = self.guest.wire
        wire.check(f"insmod /lib/fibdrv/{built.stage.key}.ko", self.timeout)
        asked = [
            (n, repeat, self.rng.getrandbits(64)) for n, repeat in wanted for _ in range(batches)
        ]
        requests = [_request(*one) for one in asked]
        answers = wire.batch(["open 0 rw", *requests, "close 0"], self.timeout)
        next(answers)
        checked = (_checked(answer, *one) for one, answer in zip(asked, answers))
        for _ in wanted:
            yield _least([next(checked) for _ in range(batches)])
        for _ in answers:
            pass
        wire.check("rmmod fibdrv", self.timeout)


def _least(answers: list[dict[str, int]]) -> dict[str, int]:
    """One of several answers to the same question, with the least time of each phase."""
    least = dict(answers[0])
    for phase in PHASES:
        least[f"{phase}_ns"] = min(answer[f"{phase}_ns"] for answer in answers)
    return least


class _WrongAnswer(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.title)
        self.failure = failure


def _checked(answer: str, n: int, repeat: int, nonce: int) -> dict[str, int]:
    got = system_calls.fields(answer)
    spread = spread_of(n)
    want = oracle.digest(n, spread, repeat, nonce)
    title = f"a measurement of F({n}), {repeat} times"
    if got["returned"]:
        raise _WrongAnswer(Failure("measure", n, "0", str(got["returned"]), title))
    if got["digest"] != want or got["digits"] != oracle.digit_total(n, spread, repeat):
        raise _WrongAnswer(
            Failure("measure", n, f"digest {want:016x}", f"{got['digest']:016x}", title)
        )
    return got


def _plan(built: Built, session: _Session, rounds: int, target_ns: int) -> list[Plan]:
    """How many repetitions each n needs: found by short tries, thrown away (a warm-up too)."""
    numbers = built.stage.manifest.measure
    plans = []
    first = list(session.measure(built, [(n, 1) for n in numbers]))
    more = [
        (n, max(1, min(1000, 200_000 // max(1, a["compute_ns"] + a["decimal_ns"]))))
        for n, a in zip(numbers, first)
    ]
    for (n, repeat), answer in zip(more, list(session.measure(built, more))):
        each = [max(answer[f"{phase}_ns"] / repeat, 0.5) for phase in PHASES]
        wish = max(target_ns / sum(each), SHORTEST_PHASE_NS / min(each))
        # Not for ever where one phase takes a thousand times longer than the other.
        wish = min(wish, max(1.0, 20 * target_ns / sum(each)), MAX_REPEAT)
        repetitions = max(1, round(wish))
        possible = int(BUDGET_NS / (repetitions * sum(each)))
        plans.append(Plan(n, repetitions, max(min(rounds, FEWEST), min(rounds, possible))))
    return plans


def measure(
    machine: Machine,
    results: list[Verified],
    rounds: int,
    seed: int,
    tell: Callable[[str, int, int], None],
    target_ns: int = BATCH_NS,
) -> Samples:
    """Measure all stages that are right so far, interleaved; a stage that fails here is out."""
    rng = random.Random(seed)
    samples: Samples = {}
    running = [r for r in results if r.status == "ok"]
    while running:
        samples = {}
        culprit = _all_rounds(machine, running, rounds, rng, samples, tell, target_ns)
        if culprit is None:
            break
        # The machine is gone or in doubt: the others are measured anew without this one.
        running.remove(culprit)
    return samples


def _all_rounds(
    machine: Machine,
    running: list[Verified],
    rounds: int,
    rng: random.Random,
    samples: Samples,
    tell: Callable[[str, int, int], None],
    target_ns: int,
) -> Verified | None:
    """All rounds in one machine; returns the stage that went wrong, if one did."""
    guest = machine.boot({r.built.stage.key: r.built.stripped for r in running})
    current = running[0]
    try:
        session = _Session(guest, rng)
        plans = {}
        for i, current in enumerate(running):
            tell("warm up", i, len(running))
            plans[current.built.stage.key] = _plan(current.built, session, rounds, target_ns)
        for i in range(rounds):
            tell("measure, round", i + 1, rounds)
            for current in rng.sample(running, len(running)):
                key = current.built.stage.key
                wanted = [p for p in plans[key] if i < p.rounds]
                once = [p for p in wanted if p.repeat < BATCHES]
                often = [p for p in wanted if p.repeat >= BATCHES]
                _round(session, current.built, once, 1, samples)
                _round(session, current.built, often, BATCHES, samples)
                finding = kernel_log.dirt(guest.console(), current.built.module)
                if finding:
                    current.end("dirty-log", f"measure: {finding.cause}", finding.excerpt)
                    return current
        return None
    except _WrongAnswer as error:
        current.fails(error.failure)
        return current
    except MachineTimeout as error:
        current.end("timeout", f"measure: {error}", kernel_log.excerpt(guest.console()))
        return current
    except MachineError as error:
        if isinstance(error, MachineDied) or not guest.alive():
            finding = kernel_log.crash(guest.console(), current.built.module)
            current.end("crashed", f"measure: {finding.cause}", finding.excerpt)
        else:
            current.end("wrong", f"measure: {error}", kernel_log.excerpt(guest.console()))
        return current
    finally:
        guest.stop()


def _round(
    session: _Session, built: Built, plans: list[Plan], batches: int, samples: Samples
) -> None:
    """One round of one stage: its repetitions in so many batches for each plan."""
    if not plans:
        return
    wanted = [(plan.n, plan.repeat // batches) for plan in plans]
    for (n, repeat), answer in zip(wanted, list(session.measure(built, wanted, batches))):
        for phase in PHASES:
            series = samples.setdefault((built.stage.key, phase, n), Series())
            series.values.append(max(answer[f"{phase}_ns"], 1) / repeat)
            series.shortest_batch = min(series.shortest_batch, answer[f"{phase}_ns"])
            series.allocations = answer[f"{phase}_allocations"] / repeat
            series.peak_bytes = answer["peak_bytes"]
