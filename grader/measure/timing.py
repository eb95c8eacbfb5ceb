# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure workloads by the clock of a machine's kernel, in rounds.

In each round the module of every workload is loaded, measured and unloaded, in shuffled order; the
round is the statistical unit. The rounds are spread over several boots, because the addresses and
page colours of a module depend on the machine's history and change little until the next boot. For
example, one of two copies of the same stage was 6 % slower in all rounds of one boot, and not in
the next boot.

The results are evaluated twice. After the first evaluation (a "look" in statistics) the caller
names the workloads and n of comparisons that are undecided but could be decided. Only these get
more rounds, for a limited time: the repeated measurement. A verdict may come from either look, and
stats.py corrects for that.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from grader.base.finding import Finding
from grader.lab.machines import Contents, Machine
from grader.measure import cross_check, guest_session, stats
from grader.measure.guest_session import GuestSession, Measurements
from grader.measure.samples import Round, Samples, Series, add_wholes
from grader.measure.workload import Reading, TimedWorkload, Work, WrongAnswer

# The smallest batch in units of the clock's resolution; its error is at most 1 %.
STEPS = 100
# The number of readings that determine the clock's resolution; BUDGET_NS / 20 may allow fewer.
PROBES, FEWEST_PROBES = 16, 4
# The shortest total time of a phase in a round.
SHORTEST_PHASE_NS = 600_000
# The target time of one n in a round, and the maximum time of one n in all rounds.
BATCH_NS = 4_000_000
BUDGET_NS = 1_500_000_000
MAX_REPEAT = 1 << 20
# With a fine clock, a round repeats a call at most this often. The driver's own work for each
# repetition takes about 0.2 us, and this program takes as long again to check the digest.
MOST_CALLS = 1 << 16
# A short call is tried this number of times before its rounds are planned. The median of these
# trials estimates the time of the call.
TRIES = 5
# Workloads whose planned repetitions of an n differ by more than this factor keep their own plans;
# otherwise all get the same number of repetitions.
ALIKE = 2
# A round measures this number of batches of each n and keeps one below the median, because most
# disturbances make a batch longer. The minimum is not used: a core that shares its execution units
# with another virtual machine is faster for moments while the other is idle, so the minimum is not
# typical. On such a computer the ratios of two copies of a stage scattered by 9 % with the minimum
# of ten batches, and by 6 to 7 % with the third to fifth smallest.
BATCHES = 10
# The maximum time of one n of a workload in the repeated measurement of undecided cases.
SECOND_BUDGET_NS = 3_000_000_000


@dataclass(frozen=True)
class SamplingPlan:
    """The number and the length of the rounds of a measurement."""

    rounds: int = 13
    target_ns: int = BATCH_NS  # Target time of one n in a round.
    boots: int = 5  # Number of boots for the rounds; a boot takes half a second.
    second: int = 0  # Rounds of the repeated measurement in each boot; 0 disables it.
    seconds: float = 12.0  # Time limit of the repeated measurement; no round starts later.

    @property
    def growth(self) -> float:
        """The largest factor by which repeated measurements increase the number of rounds."""
        return 1 + self.second * self.boots / self.rounds


# A verdict may come from two measurements: the first and the repeated one.
LOOKS = 2

WHOLE = SamplingPlan(second=12)
QUICK = SamplingPlan(stats.FEWEST, BATCH_NS // 2)

Tell = Callable[[str, int, int], None]
# A function that takes the samples of the first measurement. It returns the pairs (key, n) to
# measure again.
Undecided = Callable[[Samples], Collection[tuple[str, int]]]


@dataclass(frozen=True)
class RoundPlan:
    """The plan for one n of a workload: repetitions in each round, and the number of rounds."""

    n: int
    repeat: int
    rounds: int
    least: int = 1  # Smallest repetitions of a batch, given the clock's resolution.
    second: int = 0  # Rounds of the repeated measurement in each boot.

    @property
    def batches(self) -> int:
        """The number of batches into which the repetitions of a round are divided."""
        return max(1, min(BATCHES, self.repeat // self.least))

    @property
    def each(self) -> int:
        """The number of repetitions in a batch."""
        return self.repeat // self.batches


@dataclass
class _TimingSession:
    """The state of a measurement across several boots."""

    rng: random.Random
    tell: Tell
    effort: SamplingPlan
    equal_repetitions: bool
    samples: Samples = field(default_factory=dict)
    plans: dict[str, list[RoundPlan]] = field(default_factory=dict)
    # By (key, n): for each round, True if the caller's clock agreed, and a reading.
    fits: dict[tuple[str, int], list[bool]] = field(default_factory=dict)
    readings: dict[tuple[str, int], list[Reading]] = field(default_factory=dict)

    def work(self, boot: int, turn: GuestSession, running: Sequence[TimedWorkload]) -> Measurements:
        """Measure all rounds of one boot; make the plans in the first boot."""
        effort = self.effort
        rounds, boots = effort.rounds, effort.boots
        if boot == 0:
            for i, subject in enumerate(running):
                self.tell("warm up", i, len(running))
                self.plans[subject.key] = _plan(turn, subject, self.rng, effort)
            if self.equal_repetitions:
                self.plans = _alike(self.plans)
        found: Samples = {}
        for i in range(_share(rounds, boots, boot)):
            self.tell("measure, round", boot * rounds // boots + i + 1, rounds)
            # An expensive n has fewer rounds.
            self._rounds(turn, running, found, (boot, i), lambda p: _share(p.rounds, boots, boot))
        return Measurements(found)

    def look_again(
        self, boot: int, turn: GuestSession, running: Sequence[TimedWorkload]
    ) -> Measurements:
        """Measure all rounds of one boot of the repeated measurement.

        These rounds are counted as further rounds of a boot of the first measurement. So the
        number of groups of rounds that must agree on a verdict stays the same.
        """
        effort, found = self.effort, Samples()
        first = _share(effort.rounds, effort.boots, boot)
        begin, share, longest = time.monotonic(), effort.seconds / effort.boots, 0.0
        what = f"repeat undecided measurements, {effort.seconds:.0f} s at most: boot"
        for i in range(effort.second):
            before = time.monotonic()
            # Only the time limit ends the loop, because stopping by the results would bias the
            # results.
            if i and before - begin + longest > share:
                break
            self.tell(what, boot + 1, effort.boots)
            self._rounds(turn, running, found, (boot, first + i), lambda p: first + p.second)
            longest = max(longest, time.monotonic() - before)
        return Measurements(found)

    def _rounds(
        self,
        turn: GuestSession,
        running: Sequence[TimedWorkload],
        samples: Samples,
        place: Round,
        count: Callable[[RoundPlan], int],
    ) -> None:
        """Measure one round of all workloads, with each n whose plan includes this round."""
        for subject in self.rng.sample(list(running), len(running)):
            planned = [plan for plan in self.plans[subject.key] if place[1] < count(plan)]
            self._round(turn, subject, planned, samples, place)
            guest_session.no_complaint(turn)

    def take(self, found: Samples) -> None:
        """Add the samples of a boot."""
        for which, series in found.items():
            whole = self.samples.setdefault(which, Series())
            whole.values += series.values
            whole.rounds += series.rounds
            whole.shortest_batch = min(whole.shortest_batch, series.shortest_batch)
            whole.allocations, whole.peak_bytes = series.allocations, series.peak_bytes

    def _round(
        self,
        turn: GuestSession,
        subject: TimedWorkload,
        plans: list[RoundPlan],
        samples: Samples,
        place: Round,
    ) -> None:
        """Measure one round of a workload. Add a typical batch time of each plan and phase."""
        order = [plan for i in range(BATCHES) for plan in plans if i < plan.batches]
        wanted = [(plan.n, plan.each) for plan in order]
        readings = _ask(turn, subject, wanted, self.rng) if wanted else []
        for plan in plans:
            repeat = plan.each
            batches = [reading for one, reading in zip(order, readings) if one is plan]
            which = subject.key, plan.n
            self.fits.setdefault(which, []).append(cross_check.times_fit(batches, repeat))
            self.readings.setdefault(which, []).append(batches[0])
            for phase in subject.phases:
                series = samples.setdefault((subject.key, phase, plan.n), Series())
                times = sorted(reading.ns[phase] for reading in batches)
                series.values.append(max(times[(len(times) - 1) // 3], 1) / repeat)
                series.rounds.append(place)
                series.shortest_batch = min(series.shortest_batch, times[0])
                series.allocations = batches[0].allocations[phase] / repeat
                series.peak_bytes = batches[0].peak_bytes

    def doubts(self) -> dict[str, Finding]:
        """Return findings for workloads whose reported times differ from their caller's clock."""
        found: dict[str, Finding] = {}
        for (key, n), fits in self.fits.items():
            try:
                cross_check.check_times(n, fits, self.readings[key, n])
            except WrongAnswer as error:
                found.setdefault(key, error.finding)
        return found


def _share(rounds: int, boots: int, boot: int) -> int:
    """Return the number of rounds to measure in one boot, given the total of all boots."""
    return rounds // boots + (boot < rounds % boots)


def measure(
    machine: Machine,
    subjects: Sequence[TimedWorkload],
    contents: Callable[[Sequence[TimedWorkload]], Contents],
    seed: int,
    tell: Tell,
    effort: SamplingPlan = WHOLE,
    equal_repetitions: bool = False,
    undecided: Undecided | None = None,
) -> Measurements:
    """Return the nanoseconds per call of each workload, by phase and n.

    equal_repetitions: true if workloads with similar times for an n must have equal repetitions.
    undecided: a function that returns, after the first measurement, the workloads and n to measure
    again; it is called only if the sampling plan has rounds of the repeated measurement.
    """
    session = _TimingSession(random.Random(seed), tell, effort, equal_repetitions)
    findings: dict[str, Finding] = {}

    def boots(work: Callable[[int, GuestSession, Sequence[TimedWorkload]], Measurements]) -> None:
        for boot in range(effort.boots):
            running = [
                subject
                for subject in subjects
                if subject.key not in findings and session.plans.get(subject.key, True)
            ]
            session.rng.shuffle(running)
            measured = guest_session.in_turn(
                machine, running, contents, partial(work, boot), "measure"
            )
            findings.update(measured.findings)
            session.take(measured.samples)

    boots(session.work)
    if undecided and effort.second:
        again = undecided(_samples(session, subjects, findings))
        session.plans = {
            key: [plan for plan in plans if (key, plan.n) in again]
            for key, plans in session.plans.items()
        }
        if again:
            boots(session.look_again)
    findings = {**session.doubts(), **findings}
    return Measurements(_samples(session, subjects, findings), findings)


def _samples(
    session: _TimingSession, subjects: Sequence[TimedWorkload], findings: Mapping[str, Finding]
) -> Samples:
    """Return the samples of workloads without findings, and their sums of phases."""
    samples = {
        which: series for which, series in session.samples.items() if which[0] not in findings
    }
    for subject in subjects:
        if subject.key not in findings:
            add_wholes(samples, subject.key, subject.wholes)
    return samples


def _ask(
    turn: GuestSession,
    subject: TimedWorkload,
    wanted: Iterable[tuple[int, int]],
    rng: random.Random,
) -> list[Reading]:
    """Load a module, let it compute each wanted (n, repeat), unload it. Return the readings."""
    works = [Work(n, repeat, rng.getrandbits(64), subject.spread(n)) for n, repeat in wanted]
    return turn.ask(subject, works)


def _plan(
    turn: GuestSession, subject: TimedWorkload, rng: random.Random, effort: SamplingPlan
) -> list[RoundPlan]:
    """Plan the repetitions of each n from short trials, which also warm up the machine."""
    plans = []
    once = _ask(turn, subject, [(n, 1) for n in subject.sizes], rng)
    tried = {n: (1, reading) for n, reading in zip(subject.sizes, once)}
    # Repeat the trials often enough that the clock's resolution does not matter. A long n needs
    # only one trial, because a disturbance cannot take most of its time.
    more = [
        (n, max(1, min(1000, SHORTEST_PHASE_NS // max(1, sum(reading.ns.values())))))
        for n, (_, reading) in tried.items()
        if sum(reading.ns.values()) < 2 * BATCH_NS
    ] * TRIES
    tries: dict[int, list[tuple[int, Reading]]] = {}
    for (n, repeat), reading in zip(more, _ask(turn, subject, more, rng) if more else []):
        tries.setdefault(n, []).append((repeat, reading))
    for n, some in tries.items():
        tried[n] = sorted(some, key=lambda one: sum(one[1].ns.values()))[TRIES // 2]
    repeated = [reading for some in tries.values() for _, reading in some]
    step = _resolution(turn, subject, rng, [*once, *repeated])
    for n, (repeat, reading) in tried.items():
        # The true time may be almost one unit of the clock if the reading is 0.
        each = [max(ns or step, 0.5 * repeat) / repeat for ns in reading.ns.values()]
        least = math.ceil(STEPS * step / min(each))
        wish = max(
            effort.target_ns / sum(each), SHORTEST_PHASE_NS / min(each), float(least * BATCHES)
        )
        # Limit the total time if one phase takes a thousand times longer than another.
        wish = min(wish, max(1.0, 20 * effort.target_ns / sum(each)), MAX_REPEAT)
        wish = min(wish, max(MOST_CALLS, least * BATCHES))
        repetitions = max(1, round(wish))
        possible = int(BUDGET_NS / (repetitions * sum(each)))
        fewest = min(effort.rounds, stats.FEWEST)
        rounds = max(fewest, min(effort.rounds, possible))
        again = int(SECOND_BUDGET_NS / (repetitions * sum(each) * effort.boots))
        plans.append(RoundPlan(n, repetitions, rounds, least, min(effort.second, max(1, again))))
    return plans


def _resolution(
    turn: GuestSession, subject: TimedWorkload, rng: random.Random, known: Sequence[Reading]
) -> int:
    """Return the resolution of the clock that times the phases, in ns.

    The result is the greatest common divisor of all readings. It may be a multiple of the
    resolution, which becomes less likely with each reading, so the shortest n is read a few more
    times.
    """
    once = [sum(reading.ns.values()) for reading in known[: len(subject.sizes)]]
    shortest = min(range(len(once)), key=once.__getitem__)
    count = BUDGET_NS // 20 // max(1, once[shortest])
    probes = [(subject.sizes[shortest], 1)] * max(FEWEST_PROBES, min(PROBES, count))
    readings = [*known, *_ask(turn, subject, probes, rng)]
    return math.gcd(*(ns for reading in readings for ns in reading.ns.values())) or 1


def _alike(plans: Mapping[str, list[RoundPlan]]) -> dict[str, list[RoundPlan]]:
    """Give all workloads with similar times the same repetitions, separately for each n.

    A shorter batch is less likely to be disturbed, so different repetitions would bias the
    comparison. Of two copies of stage 5 with one and two calls in a batch of approximately 50 us,
    the second was 3 to 7 % slower in eight of twelve boots.
    """
    together: dict[int, list[RoundPlan]] = {}
    for plan in (plan for some in plans.values() for plan in some):
        together.setdefault(plan.n, []).append(plan)
    same = {
        n: RoundPlan(
            n,
            max(p.repeat for p in some),
            min(p.rounds for p in some),
            max(p.least for p in some),
            min(p.second for p in some),
        )
        for n, some in together.items()
        if max(p.repeat for p in some) <= ALIKE * min(p.repeat for p in some)
    }
    return {key: [same.get(plan.n, plan) for plan in some] for key, some in plans.items()}


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def disturbances(samples: Samples) -> list[str]:
    """Return notes on possible disturbances of the measurements on this computer, with advice."""
    message: list[str] = []
    if not samples:
        return message
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = f"{load:.1f} processes compete for {cores} cores" if load > 1.5 * cores else ""
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor and governor != "performance":
        message.append(
            f"the CPU governor is {governor}, so that the clock may change while measuring:"
            " scripts/quiet-cpu grader/run.sh sets it to performance and back"
        )
    turbo = _read("/sys/devices/system/cpu/intel_pstate/no_turbo") == "0"
    if turbo or _read("/sys/devices/system/cpu/cpufreq/boost") == "1":
        message.append(
            "turbo is on, so that the first rounds may run faster than the last:"
            " scripts/quiet-cpu grader/run.sh turns it off and back on"
        )
    return message + _in_the_figures(samples, busy)


def _in_the_figures(samples: Mapping[tuple[str, str, int], Series], busy: str) -> list[str]:
    """Return notes on few rounds or large scatter. busy: a warning, or ""."""
    message: list[str] = []
    few = min(len(series.values) for series in samples.values())
    if few < stats.FEWEST:
        message.append(
            f"only {few} rounds: no claim is made from fewer than {stats.FEWEST},"
            " leave --quick away"
        )
    wide = sum(_noisy(series.values) for series in samples.values())
    if wide > len(samples) / 4:
        why = busy or "this computer is busy, throttles or is a virtual machine"
        message.append(
            f"{wide} of {len(samples)} figures spread by more than a tenth ({why}): faster and"
            " slower are as sure as ever, but differences below a tenth may stay ~; go by the"
            " instructions there, or measure again when it is quiet"
        )
    elif busy:
        message.append(f"{busy}: close what else runs, then measure again")
    return message


def _noisy(values: list[float]) -> bool:
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return ordered[-1 - quarter] > 1.1 * ordered[quarter]
