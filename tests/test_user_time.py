# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the output of fibctl user, and the rows of the report that contain it."""

import json
from dataclasses import replace

import jsonschema
import pytest

from grader.base import paths
from grader.base.errors import MachineError
from grader.exercise.build import stage_module
from grader.exercise.files import device, stages
from grader.exercise.workload import round_trip
from grader.report.schema import SCHEMA_FILE

TABLE = """\
ns               read()        compute        decimal     difference   faults
first            227072           1536            768         224768        7
median           161280           1024            512         159232        0
calls 101, memory not locked, reading the clock twice takes 26112 ns
"""


def test_parse():
    first, median, count = round_trip.parse(TABLE)
    assert first["user"] == 227072
    assert first["faults"] == 7
    assert (median["compute"], median["decimal"], median["difference"]) == (1024, 512, 159232)
    assert count == 101
    with pytest.raises(MachineError):
        round_trip.parse("fibctl: no\n")


@pytest.fixture(scope="module")
def stage7(kernel):
    stage = stages.find(paths.STAGES, [7])[0]
    manifest = replace(stage.manifest, measure=(100, 10000, 1000000))
    built = stage_module.build(replace(stage, manifest=manifest), kernel)
    assert built.ok, built.cause
    return built


@pytest.fixture(scope="module")
def guest(uml, stage7):
    guest = uml.boot(device.contents({"fibdrv": stage7.module.stripped}))
    guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 30)
    yield guest
    guest.stop()


@pytest.mark.machine
def test_the_parts_add_up_and_locked_memory_does_not_fault(guest):
    # 20,899 digits take six pages, which the first read() touches.
    loose, _, count = round_trip.parse(guest.channel.check("fibctl user 100000 11", 60))
    assert count == 11
    assert loose["faults"] >= 6
    locked, median, _ = round_trip.parse(guest.channel.check("fibctl user 100000 11 --lock", 60))
    assert locked["faults"] == median["faults"] == 0
    for call in (loose, locked):
        rest = call["user"] - call["compute"] - call["decimal"]
        assert call["difference"] == pytest.approx(rest, abs=1)
    # Allow large differences: each value is from a separate run, which other guests on this
    # computer may slow down.
    assert 2 * median["user"] > median["compute"] + median["decimal"]


@pytest.mark.machine
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("user", 2, "usage"),
        ("user 5 1", 2, "COUNT is 2 to"),
        ("user 5 --lock x", 2, "not a number"),
        ("user 5 3 --lock more", 2, "usage"),
        ("user 1000001", 1, "larger than this stage's max_n"),
    ],
)
def test_bad_words(guest, words, status, said):
    done = guest.channel.run(f"fibctl {words}", 30)
    assert done.status == status
    assert said in done.output


@pytest.mark.machine
def test_a_clock_that_is_off_is_said(guest):
    knob = "/sys/class/fibonacci/fibonacci/ktime_measure"
    guest.channel.check(f"echo 0 >{knob}", 30)
    done = guest.channel.run("fibctl user 10", 30)
    guest.channel.check(f"echo 1 >{knob}", 30)
    assert done.status == 1
    assert "the clock is off" in done.output


@pytest.mark.machine
def test_rows_for_the_report(uml, stage7, booted):
    rows = round_trip.measure_round_trips(uml, stage7)
    # A read of F(1,000,000) is not repeated, because it takes too long.
    assert [row["n"] for row in rows] == [100, 10000]
    schema = json.loads(SCHEMA_FILE.read_text())
    form = {"$ref": "#/$defs/round_trip", "$defs": schema["$defs"]}
    for row in rows:
        jsonschema.validate(row, form)
        assert row["user"] > row["difference"] > 0
        assert row["locked"] is True
        assert row["machine"] == "uml"
        assert row["count"] >= 4
    assert rows[1]["kernel"] > 5 * rows[0]["kernel"]
    assert len(booted) == 1
