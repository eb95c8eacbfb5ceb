# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Create reports with invented numbers for any stages, metrics and phases; parse their HTML."""

from __future__ import annotations

import itertools
import random
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from grader import report as lab_report
from grader.report.schema import VERSION

HOSTILE = "\"'><script>alert(1)</script><b>`touch pwned`$(id)@x\\\x1b[2J\u202e\ud800\n{{ 7*7 }}"
NAMES = (
    ("iterative-u64", 93),
    ("fast-doubling-clz", 93),
    ("bignum-u32", 10_000),
    ("allocation-free-api", 10_000),
    ("schoolbook-squaring", 100_000),
    ("u64-limbs-asm", 100_000),
    ("preallocation", 1_000_000),
    ("decimal-limbs", 1_000_000),
    ("lucas-pairs", 1_000_000),
    ("karatsuba", 1_000_000),
    ("number-theoretic-transform", 10_000_000),
    ("a-step-beyond-the-last", 10_000_000),
)
PARTS = ("compute", "decimal")
PHASES = (*PARTS, "read")
ALL_N = (0, 10, 93, 1000, 10_000, 100_000, 1_000_000, 10_000_000)


def machine(name: str, metric: str) -> dict[str, Any]:
    return {
        "name": name,
        "kernel": "6.1.170",
        "compiler": "gcc 12.2.0",
        "cpu": "a cpu",
        "metric": metric,
        "warnings": [],
    }


def points(number: int) -> dict[str, Any]:
    """Return full points for stage N. In these reports, stage N has N tasks, but at most four."""
    names = ["add", "sub", "mul", "to_decimal"][: min(number, 4)]
    each = 60 // len(names)
    lines = [
        {
            "name": name,
            "kind": "task",
            "code": "ok",
            "earned": each,
            "possible": each,
            "remark": "512 tries, all right",
        }
        for name in names
    ]
    for name, worth, remark in (
        ("device", 30, "1,041 tests passed"),
        ("speed", 10, "8,214 instructions for F(10,000); up to 8,300 earns all points"),
    ):
        lines.append(
            {
                "name": name,
                "kind": name,
                "code": "ok",
                "earned": worth,
                "possible": worth,
                "remark": remark,
            }
        )
    return {"earned": 100, "possible": 100, "lines": lines}


def lose(stage: dict[str, Any], name: str, lost: float, remark: str) -> None:
    """Deduct `lost` points from a line of a report and add a remark to the line."""
    line = next(line for line in stage["points"]["lines"] if line["name"] == name)
    line.update(earned=line["earned"] - lost, remark=remark)
    stage["points"]["earned"] -= lost


def stage(
    number: int, machines: list[dict[str, Any]], chance: random.Random, phases: tuple[str, ...]
) -> dict[str, Any]:
    name, max_n = NAMES[number - 1]
    samples = []
    for place in machines:
        for phase in phases:
            for n in (n for n in ALL_N if n <= max_n):
                cost = (5 + n**1.6 / number**2) * chance.uniform(0.99, 1.01)
                samples.append(
                    {
                        "machine": place["name"],
                        "metric": place["metric"],
                        "phase": phase,
                        "n": n,
                        "median": cost,
                        "ci95": [cost * 0.98, cost * 1.02],
                        "count": 31,
                        "outliers": 1,
                        "allocations": 0 if number < 3 else 20 // number,
                        "peak_bytes": 0 if number < 3 else n,
                    }
                )
    return {
        "number": number,
        "name": name,
        "dir": f"stages/{number}-{name}",
        "title": "a title",
        "max_n": max_n,
        "status": "ok",
        "cause": "",
        "findings": [],
        "correctness": {"passed": 1041, "failed": 0, "failures": []},
        "points": points(number),
        "samples": samples,
    }


def fabricate(
    numbers: list[int], metrics: int = 1, phases: tuple[str, ...] = PARTS
) -> dict[str, Any]:
    """Return a valid report on the given stages, with one or two metrics of the given phases."""
    chance = random.Random(1)
    machines = [machine("uml", "ns"), machine("qemu", "instructions")][:metrics]
    stages = [stage(number, machines, chance, phases) for number in numbers]
    speedups = []
    for before, after in itertools.pairwise(stages):
        for old in before["samples"]:
            for new in after["samples"]:
                keys = ("machine", "metric", "phase", "n")
                if all(old[key] == new[key] for key in keys):
                    ratio = old["median"] / new["median"]
                    speedups.append(
                        {key: old[key] for key in keys}
                        | {
                            "from": before["number"],
                            "to": after["number"],
                            "ratio": ratio,
                            "ci95": [ratio * 0.98, ratio * 1.02],
                            "p": None if old["metric"] == "instructions" else 0.01,
                            "verdict": "faster" if ratio > 1.03 else "~",
                        }
                    )
    return {
        "schema": VERSION,
        "commit": "a3f91c2",
        "started": "2026-11-20T14:02:11+00:00",
        "seconds": 163.2,
        "seed": 1,
        "quick": False,
        "command": "grader/run.sh --seed 1",
        "machines": machines,
        "stages": stages,
        "speedups": speedups,
    }


def failed() -> dict[str, Any]:
    """Return a report on a single stage that fails verification."""
    report = fabricate([1])
    stage = report["stages"][0]
    stage.update(status="wrong", cause="F(93) is wrong", samples=[])
    found = {"by": "verify", "status": "wrong", "code": "wrong", "cause": "F(93) is wrong"}
    stage["findings"] = [found]
    lose(stage, "device", 12, "F(93) is wrong")
    lose(stage, "speed", 10, "is measured when the device is right")
    stage["correctness"] = {
        "passed": 5,
        "failed": 9,
        "failures": [
            {"test": "value", "n": 93, "expected": "122" * 70, "got": "122" * 60 + "9" + "1" * 29}
        ],
    }
    return report


def hostile() -> dict[str, Any]:
    """Return a report with HOSTILE in every field that allows any text."""
    report = fabricate([1, 2], metrics=2)
    report["command"] = report["commit"] = report["started"] = HOSTILE
    for one in report["stages"]:
        one.update(
            name=HOSTILE, title=HOSTILE, teaches=HOSTILE, cause=HOSTILE, log=HOSTILE,
            status="crashed", dir=f"{one['dir']}/{HOSTILE}", points_note=HOSTILE,
        )  # fmt: skip
        one["findings"] = [
            {"by": HOSTILE, "status": "wrong", "code": "wrong", "cause": HOSTILE, "log": HOSTILE}
            for _ in range(5)
        ]
        for line in one["points"]["lines"]:
            lose(one, line["name"], 1, HOSTILE)
            line["name"] = HOSTILE
        one["correctness"]["failed"] = 2
        one["correctness"]["failures"] = [
            {"test": HOSTILE, "n": None, "expected": HOSTILE, "got": HOSTILE + "x"},
            {"test": HOSTILE, "n": 1, "expected": "a" + HOSTILE, "got": HOSTILE},
        ]
    for place in report["machines"]:
        place.update(kernel=HOSTILE, compiler=HOSTILE, cpu=HOSTILE, warnings=[HOSTILE])
        place["facts"] = {HOSTILE: HOSTILE}
        name = place["name"]
        place["name"] = name + HOSTILE
        for entry in report["speedups"] + [s for g in report["stages"] for s in g["samples"]]:
            if entry["machine"] == name:
                entry["machine"] += HOSTILE
    report["gaps"] = [{"from": 1, "to": 2, "reason": HOSTILE}]
    report["disagreements"] = [
        {"phase": "compute", "n": 93, "from": 1, "to": 2, "ns_verdict": "faster",
         "instructions_verdict": "~", "why": HOSTILE}
    ]  # fmt: skip
    return report


class Page(HTMLParser):
    """The tags, links and text of an HTML page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [
            value for name, value in attrs if name in ("href", "src", "xlink:href") and value
        ]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def drawn(report: dict[str, Any], out: Path) -> Page:
    lab_report.write(report, out)
    return Page((out / "index.html").read_text(encoding="utf-8"))
