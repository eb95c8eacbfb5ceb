# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test a driver with two concurrent callers, whose updates must not be lost.

The interposer delays about one in RACE memory accesses of the driver, so that the other caller
runs. Both callers run on one CPU first, then on two. A driver without a lock loses about 7 of 100
lines in this test on every computer, under any load.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence

from grader.exercise.driver import call_trace, notebook, system_calls
from grader.exercise.driver.call_trace import TracedCall
from grader.exercise.driver.session import TOGETHER, DriverSession, wrong

RACE = 8
PARAMETER = f"race={RACE}"
# Which accesses need the lock in the test of each task, see enum lockset in locks.c. A counter may
# be read without it.
WRITES, ACCESSES, STRICT = 1, 2, 3
LOCKED = {
    "two callers": STRICT,
    "sysfs": ACCESSES,
    "counter": WRITES,
    "open": ACCESSES,
    "ioctl": ACCESSES,
}
# The number of calls that each caller makes.
COUNT = 100
# The number of times that both callers write a line when only one more line fits.
LAST_LINES = 2
CPUS = {"": "on one CPU", " two": "on two CPUs"}
# A test is valid only if the driver made at least this many accesses, and if at least half of the
# expected number of accesses waited.
ACCESSES = COUNT
# All calls of one caller through one file, which show whether locks are taken in one order only.
ONE_FILE = ("open 0 rw", "write 0 1", "read 0 2", "seek 0 0 0", "seek 0 0 1", "seek 0 0 2")
# The moment of an error that belongs to no single test.
CLOSED = "when both have closed their files"
BEGINNING = system_calls.BEGINNING.count("\n")


def _lines(session: DriverSession, places: Mapping[str, str]) -> str:
    """Test the task "two callers": no line may be lost, and shared data needs the lock."""
    before = BEGINNING
    for cpus, place in places.items():
        title = f"two callers write {COUNT} lines each, {place}"
        written, there, odd = _numbers(session, f"lines {COUNT}{cpus}", title, 3)
        if written != 2 * COUNT:
            raise wrong(TOGETHER, title, f"all {2 * COUNT} lines taken", f"{written}")
        want = before + 2 * COUNT
        if there != want:
            lost = f"{want - there} are lost" if there < want else f"{there - want} too many"
            raise wrong(TOGETHER, title, f"{want} lines in the notebook", f"{there}: {lost}")
        if odd:
            got = f"{odd} lines that no caller has written, such as parts of two lines"
            raise wrong(TOGETHER, title, "no other lines", got)
        title = f"one caller writes {COUNT} lines, one reads and seeks, {place}"
        (odd,) = _numbers(session, f"follows {COUNT}{cpus}", title, 1)
        if odd:
            raise wrong(TOGETHER, title, "whole lines", f"{odd} answers that are not")
        session.clean(title)
        before = want + COUNT
    session.ask(ONE_FILE)
    _killed(session, "write", "read", "seek")
    return title


def _last_line(session: DriverSession, cpus: str) -> None:
    """Let both callers write a line when only one line fits. The client makes every access wait."""
    for _ in range(LAST_LINES):
        session.must_load()
        title = f"two callers write a line each where one fits, {CPUS[cpus]}"
        written, size = _numbers(session, f"last{cpus}", title, 2)
        if (written, size) != (1, system_calls.BYTES):
            do = "; hold the lock from the check to first_append" if written > 1 else ""
            raise wrong(TOGETHER, title, f"1 line more, {system_calls.BYTES} bytes in all",
                        f"{written}, {size} bytes{do}")  # fmt: skip
        _was_set(session.must_unload(title), lockset=0, race=(1,))


def _lines_file(session: DriverSession, places: Mapping[str, str]) -> str:
    """Test the attribute "lines" of the task "sysfs"."""
    for cpus, place in places.items():
        title = f"one caller writes {COUNT} lines, one reads the file lines, {place}"
        (odd,) = _numbers(session, f"shows {COUNT}{cpus}", title, 1)
        if odd:
            raise wrong(TOGETHER, title, "the number of lines", f"{odd} answers that are wrong")
        session.clean(title)
    _killed(session, "lines")
    return CLOSED


def _calls(session: DriverSession, places: Mapping[str, str]) -> str:
    """Test the attribute "calls" of the task "counter"."""
    for cpus, place in places.items():
        title = f"two callers make {COUNT} calls each, {place}: calls"
        session.ask(["store calls 0"])
        _numbers(session, f"reads {COUNT}{cpus}", title, 1)
        output = session.ask(["show calls"])[0]
        if output != rf"0 {2 * COUNT}\n":
            got = system_calls.in_words("show calls", output)
            do = "count by an atomic64_t, or under the lock"
            raise wrong(TOGETHER, title, rf'"{2 * COUNT}\n"', f"{got}; {do}")
        for who, title in (
            ("", f"one caller reads {COUNT} times, one sets the file calls to 0, {place}"),
            (" both", f"two callers set the file calls to 0 {COUNT} times each, {place}"),
        ):
            (odd,) = _numbers(session, f"resets {COUNT}{who}{cpus}", title, 1)
            if odd:
                want = "the number of calls since then"
                raise wrong(TOGETHER, title, want, f"{odd} answers that are wrong")
            session.clean(title)
    _killed(session, "calls", "store")
    return CLOSED


def _open(session: DriverSession, places: Mapping[str, str]) -> str:
    """Test the task "open". Only the race detector checks the lines counted for each file."""
    for cpus, place in places.items():
        title = f"two callers write {COUNT} lines each through one open file, {place}"
        session.ask([f"same {COUNT}{cpus}"])
        session.clean(title)
        title = f"two callers open and close the device {COUNT} times each, {place}"
        (opened,) = _numbers(session, f"opens {COUNT}{cpus}", title, 1)
        if opened != 2 * COUNT:
            raise wrong(TOGETHER, title, f"{2 * COUNT} open files", f"{opened}")
        session.clean(title)
    _killed(session, "open", "close")
    return CLOSED


def _notebook(session: DriverSession, places: Mapping[str, str]) -> str:
    """Test the requests of the task "ioctl"."""
    for cpus, place in places.items():
        session.ask([*ONE_FILE, "info 0", "clear 0"])
        title = f"one caller writes {COUNT} lines, one clears, {place}"
        written, cleared, odd = _numbers(session, f"clears {COUNT}{cpus}", title, 3)
        if written != cleared:
            want = f"as many lines cleared as written: {written}"
            raise wrong(TOGETHER, title, want, f"{cleared}")
        if odd:
            raise wrong(TOGETHER, title, "no line left behind by CLEAR",
                        f"{odd} answers that are wrong")  # fmt: skip
        title = f"one caller writes and clears, one asks INFO, {place}"
        _, odd = _numbers(session, f"infos {COUNT}{cpus}", title, 2)
        if odd:
            raise wrong(TOGETHER, title, "lines, bytes, room and mine from one moment",
                        f"{odd} answers that do not belong together")  # fmt: skip
        title = f"one caller writes and clears, one reads and seeks, {place}"
        (odd,) = _numbers(session, f"wholes {2 * COUNT}{cpus}", title, 1)
        if odd:
            raise wrong(TOGETHER, title, "whole lines", f"{odd} answers that are not")
        title = f"two callers write {COUNT} lines each through one open file, {place}"
        written, mine = _numbers(session, f"same {COUNT}{cpus}", title, 2)
        if written != mine:
            raise wrong(TOGETHER, title, f"mine {written}", f"mine {mine}")
        title = f"two callers open {COUNT} files each and write a line to each, {place}"
        (right,) = _numbers(session, f"opens {COUNT} info{cpus}", title, 1)
        if right != 2 * COUNT:
            raise wrong(TOGETHER, title, f"mine 1 in {2 * COUNT} files", f"in {right}")
        session.clean(title)
    _killed(session, "info", "clear")
    return CLOSED


def _killed(session: DriverSession, *kinds: str) -> None:
    """Make calls whose caller is killed when they begin, or while it waits for the lock."""
    for kind in kinds:
        for when, moment in (1, "while it waits for"), (2, "before it waits for"):
            title = f"a caller is killed {moment} a lock in {kind}"
            _numbers(session, f"killed {kind} {when}", title, 1)
            session.clean(title)


def _numbers(session: DriverSession, request: str, title: str, count: int) -> list[int]:
    """Make a request for two callers. Return the numbers that follow the 0 in its answer."""
    words = session.ask([request], title)[0].split()
    if words == [str(-errno.EINTR)]:
        raise wrong(TOGETHER, title, "EINTR only after a signal",
                    "EINTR without a signal; wait for the lock, by mutex_lock")  # fmt: skip
    if words[:1] != ["0"] or len(words) != count + 1:
        raise wrong(TOGETHER, title, "0", system_calls.in_words("pair", " ".join(words)))
    return [int(word) for word in words[1:]]


def _was_set(done: Sequence[TracedCall], lockset: int, race: Sequence[int] = (RACE,)) -> None:
    """Raise WrongError if a parameter had other values than those that check has set.

    The driver can find the functions that set its parameters, and call them. They write each new
    value to the trace, and also whether the trace was paused.
    """
    wanted = {"race": [*race], "lockset": [lockset] if lockset else [], "paused": []}
    for name, values in wanted.items():
        got = call_trace.told(done, name)
        if got != values:
            raise wrong(TOGETHER, "two callers", f"parameter {name} as check set it: {values}",
                        f"{got}")  # fmt: skip


def _was_raced(done: Sequence[TracedCall]) -> None:
    """Raise WrongError if too few accesses waited."""
    counts = [call_trace.told(done, name) for name in ("accesses", "waited")]
    # race.c writes each count once. Another number of lines means that the driver wrote lines into
    # the trace, or filled the trace.
    if [len(lines) for lines in counts] != [1, 1]:
        got = f"{len(counts[0])} and {len(counts[1])}"
        raise wrong(TOGETHER, "two callers", "one count of accesses and one of waits", got)
    (count,), (waited,) = counts
    if count < ACCESSES or 2 * RACE * waited < count:
        raise wrong(TOGETHER, "two callers", f"one in {RACE} accesses waits for the other",
                    f"{waited} of {count} waited")  # fmt: skip


# The tests, by the name of their task. They run in each place, and return the title for errors that
# only the unload shows.
TESTS: Mapping[str, Callable[[DriverSession, Mapping[str, str]], str]] = {
    "two callers": _lines,
    "sysfs": _lines_file,
    "counter": _calls,
    "open": _open,
    "ioctl": _notebook,
}


def test(task: str, session: DriverSession, right: Sequence[str], seed: int) -> None:
    """Test a task with two callers. Raise WrongError for the first fault.

    right: this task and the tasks before it that are right, whose calls it also makes.
    """
    session.must_load(PARAMETER, f"lockset={LOCKED[task]}")
    title = TESTS[task](session, CPUS)
    done = session.must_unload(title)
    _was_set(done, LOCKED[task])
    if task != "open":  # The function open accesses shared data only a few times.
        _was_raced(done)
    if task == "two callers":
        for cpus in CPUS:
            _last_line(session, cpus)
    if task != "open":  # It has no calls of its own.
        _in_turns(task, session, right, seed)


def _in_turns(task: str, session: DriverSession, right: Sequence[str], seed: int) -> None:
    """Let two threads make random calls in turn. The locks are checked, and no access waits."""
    session.must_load(f"lockset={LOCKED[task]}")
    session.try_cases(notebook.in_turns(task, right, seed), TOGETHER)
    title = "two threads make random calls in turn"
    session.clean(title)
    _was_set(session.must_unload(title), LOCKED[task], race=())


def test_alone(task: str, session: DriverSession) -> None:
    """Make the calls of a test on one CPU, with a driver whose accesses do not wait."""
    session.must_load()
    TESTS[task](session, {cpus: place for cpus, place in CPUS.items() if not cpus})
