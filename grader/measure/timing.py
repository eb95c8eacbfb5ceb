# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure subjects by the clock of a machine's kernel, in rounds.

In each round every subject is loaded, measured and unloaded, in shuffled order; the round is the
statistical unit. Rounds are spread over several boots: where a module lies, in which pages of which
colour, hangs on what the machine has done before, and stays much the same until it boots again. Of
two copies of one stage one was 6 % slower in all of a boot, and not in the next.

There are two looks at the figures. After the first the caller names the subjects and n of those
comparisons that are undecided and may still be decided; only these get more rounds, for a limited
time. A verdict may therefore come from either look, and that is paid for: see stats.py.
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

# A batch of a hundred steps of the clock is right within 1 %.
STEPS = 100
# This many readings, or as many as BUDGET_NS / 20 allows, show the clock's resolution.
PROBES, FEWEST_PROBES = 16, 4
# No phase is timed for less than this in a round.
SHORTEST_PHASE_NS = 600_000
# What one n should take in a round, and the most that a large n may use in all rounds.
BATCH_NS = 4_000_000
BUDGET_NS = 1_500_000_000
MAX_REPEAT = 1 << 20
# So often a short one is tried beforehand; the middle one says how long it takes.
TRIES = 5
# One that would be repeated so much more often than another does not take about as long.
ALIKE = 2
# A round measures each n so many times, the n in turn, and keeps one that is below the middle. Most
# of what disturbs makes a batch longer. Not all: a core that shares its units with another
# computer's is faster for the moments in which that one is idle, so that the least is not the
# usual. Of two copies of a stage on such a computer, the rounds' ratios scattered by 9 % with the
# least of ten, by 6 to 7 % with the third to fifth.
BATCHES = 10
# The most that one n of a subject may use in the second look.
SECOND_BUDGET_NS = 3_000_000_000


@dataclass(frozen=True)
class SamplingPlan:
    """How much is measured."""

    rounds: int = 15
    target_ns: int = BATCH_NS  # what one n should take in a round
    boots: int = 5  # over which rounds are spread; one takes half a second
    second: int = 0  # rounds of the second look in each of as many boots; 0: there is one look
    seconds: float = 20.0  # after which no further round of the second look begins

    @property
    def growth(self) -> float:
        """Return how many times as many rounds there may be after the second look."""
        return 1 + self.second * self.boots / self.rounds


# A verdict may come from either.
LOOKS = 2

WHOLE = SamplingPlan(second=12)
QUICK = SamplingPlan(stats.FEWEST, BATCH_NS // 2)

Tell = Callable[[str, int, int], None]
# Returns the subjects and n that a second look may help, from the figures of the first.
Undecided = Callable[[Samples], Collection[tuple[str, int]]]


@dataclass(frozen=True)
class RoundPlan:
    """One measurement: n, how many repetitions a round, in how many rounds."""

    n: int
    repeat: int
    rounds: int
    least: int = 1  # repetitions that a batch must have, or the clock's resolution would show
    second: int = 0  # rounds of each boot in the second look

    @property
    def batches(self) -> int:
        """Return in how many parts the repetitions of a round are measured."""
        return max(1, min(BATCHES, self.repeat // self.least))

    @property
    def each(self) -> int:
        """Repetitions in a part."""
        return self.repeat // self.batches


@dataclass
class _TimingSession:
    """What is known of a measurement that goes over several boots."""

    rng: random.Random
    tell: Tell
    effort: SamplingPlan
    alike: bool
    samples: Samples = field(default_factory=dict)
    plans: dict[str, list[RoundPlan]] = field(default_factory=dict)
    # By subject and n: in which rounds the caller's clock agreed, and what it was about.
    fits: dict[tuple[str, int], list[bool]] = field(default_factory=dict)
    readings: dict[tuple[str, int], list[Reading]] = field(default_factory=dict)

    def work(self, boot: int, turn: GuestSession, running: Sequence[TimedWorkload]) -> Measurements:
        """All rounds of one boot."""
        effort = self.effort
        rounds, boots = effort.rounds, effort.boots
        if boot == 0:
            for i, subject in enumerate(running):
                self.tell("warm up", i, len(running))
                self.plans[subject.key] = _plan(turn, subject, self.rng, effort)
            if self.alike:
                self.plans = _alike(self.plans)
        found: Samples = {}
        for i in range(_share(rounds, boots, boot)):
            self.tell("measure, round", boot * rounds // boots + i + 1, rounds)
            # A long n has fewer rounds.
            self._rounds(turn, running, found, (boot, i), lambda p: _share(p.rounds, boots, boot))
        return Measurements(found)

    def look_again(
        self, boot: int, turn: GuestSession, running: Sequence[TimedWorkload]
    ) -> Measurements:
        """All rounds of one boot of the second look.

        They are counted as further rounds of a boot of the first look, so that a verdict still
        needs as many groups of rounds to agree, each larger than before.
        """
        effort, found = self.effort, Samples()
        first = _share(effort.rounds, effort.boots, boot)
        begin, share, longest = time.monotonic(), effort.seconds / effort.boots, 0.0
        what = f"measure again what is undecided, {effort.seconds:.0f} s at most: boot"
        for i in range(effort.second):
            before = time.monotonic()
            # Time alone ends it, not what was measured, which would favour some results.
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
        """One round of all subjects, of those n that have so many in this boot."""
        for subject in self.rng.sample(list(running), len(running)):
            planned = [plan for plan in self.plans[subject.key] if place[1] < count(plan)]
            self._round(turn, subject, planned, samples, place)
            guest_session.no_complaint(turn)

    def take(self, found: Samples) -> None:
        """Add what a boot has come to."""
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
        """One round of one subject: of each plan's batches a usual time of each phase."""
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
        """Subjects whose account does not fit what their caller's clock says."""
        found: dict[str, Finding] = {}
        for (key, n), fits in self.fits.items():
            try:
                cross_check.check_times(n, fits, self.readings[key, n])
            except WrongAnswer as error:
                found.setdefault(key, error.finding)
        return found


def _share(rounds: int, boots: int, boot: int) -> int:
    """How many of some rounds are in a boot."""
    return rounds // boots + (boot < rounds % boots)


def measure(
    machine: Machine,
    subjects: Sequence[TimedWorkload],
    contents: Callable[[Sequence[TimedWorkload]], Contents],
    seed: int,
    tell: Tell,
    effort: SamplingPlan = WHOLE,
    alike: bool = False,
    undecided: Undecided | None = None,
) -> Measurements:
    """Nanoseconds per call of each subject, by phase and n: interleaved rounds, several boots.

    alike: subjects that take about as long at an n repeat it as often. undecided: asked after the
    first look which subjects and n are to be measured again, if the effort has a second.
    """
    session = _TimingSession(random.Random(seed), tell, effort, alike)
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
    """The samples of those subjects that nothing is wrong with, and their sums of phases."""
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
    """Load a subject, have it do each (n, repeat), unload it."""
    works = [Work(n, repeat, rng.getrandbits(64), subject.spread(n)) for n, repeat in wanted]
    return turn.ask(subject, works)


def _plan(
    turn: GuestSession, subject: TimedWorkload, rng: random.Random, effort: SamplingPlan
) -> list[RoundPlan]:
    """How many repetitions each n needs: found by short tries, thrown away (a warm-up too)."""
    plans = []
    once = _ask(turn, subject, [(n, 1) for n in subject.sizes], rng)
    tried = {n: (1, reading) for n, reading in zip(subject.sizes, once)}
    # Again, so often that the clock's steps do not matter; but for the long ones, of which once is
    # enough, since it cannot be that something else took most of it.
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
        # What took no step of the clock may have taken almost one.
        each = [max(ns or step, 0.5 * repeat) / repeat for ns in reading.ns.values()]
        least = math.ceil(STEPS * step / min(each))
        wish = max(
            effort.target_ns / sum(each), SHORTEST_PHASE_NS / min(each), float(least * BATCHES)
        )
        # Not for ever where one phase takes a thousand times longer than the other.
        wish = min(wish, max(1.0, 20 * effort.target_ns / sum(each)), MAX_REPEAT)
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
    """Return the step of the clock that times the phases, in ns.

    It divides all readings. That a multiple of it divides them, too, becomes less likely with each:
    the shortest n is read a few times more.
    """
    once = [sum(reading.ns.values()) for reading in known[: len(subject.sizes)]]
    shortest = min(range(len(once)), key=once.__getitem__)
    count = BUDGET_NS // 20 // max(1, once[shortest])
    probes = [(subject.sizes[shortest], 1)] * max(FEWEST_PROBES, min(PROBES, count))
    readings = [*known, *_ask(turn, subject, probes, rng)]
    return math.gcd(*(ns for reading in readings for ns in reading.ns.values())) or 1


def _alike(plans: Mapping[str, list[RoundPlan]]) -> dict[str, list[RoundPlan]]:
    """The same repetitions for all that take about as long, each n for itself.

    The shorter a batch, the likelier nothing disturbs it. Of two copies of stage 5, with one and
    two calls in a batch of some 50 us, the second was 3 to 7 % slower in eight of twelve boots.
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
    """What may disturb the figures on this computer, and the cure."""
    said: list[str] = []
    if not samples:
        return said
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = f"{load:.1f} processes want {cores} cores" if load > 1.5 * cores else ""
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor and governor != "performance":
        said.append(
            f"the CPU governor is {governor}, so that the clock may change while measuring:"
            " scripts/quiet-cpu grader/run.sh sets it to performance and back"
        )
    turbo = _read("/sys/devices/system/cpu/intel_pstate/no_turbo") == "0"
    if turbo or _read("/sys/devices/system/cpu/cpufreq/boost") == "1":
        said.append(
            "turbo is on, so that the first rounds may run faster than the last:"
            " scripts/quiet-cpu grader/run.sh turns it off and back on"
        )
    return said + _in_the_figures(samples, busy)


def _in_the_figures(samples: Mapping[tuple[str, str, int], Series], busy: str) -> list[str]:
    """What the figures show; busy: that the computer is busy, if it is."""
    said: list[str] = []
    few = min(len(series.values) for series in samples.values())
    if few < stats.FEWEST:
        said.append(
            f"only {few} rounds: no claim is made from fewer than {stats.FEWEST},"
            " leave --quick away"
        )
    wide = sum(_noisy(series.values) for series in samples.values())
    if wide > len(samples) / 4:
        why = busy or "this computer is busy, throttles or is a virtual machine"
        said.append(
            f"{wide} of {len(samples)} figures spread by more than a tenth ({why}): faster and"
            " slower are as sure as ever, but differences below a tenth may stay ~; go by the"
            " instructions there, or measure again when it is quiet"
        )
    elif busy:
        said.append(f"{busy}: close what else runs, then measure again")
    return said


def _noisy(values: list[float]) -> bool:
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return ordered[-1 - quarter] > 1.1 * ordered[quarter]
