# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the pictures of sequences in time: calls, steps, cycles, races."""

from __future__ import annotations

from collections.abc import Callable

from .canvas import SMALL, Picture, say


def read() -> Picture:
    """Draw the calls from a system call down to fib_compute."""
    p = Picture("read", "From read() to fib_compute and back", 414)
    p.box(90, 22, 230, 40, "your program\nread(fd, buf, 64)", "grey", size=13)
    p.line(10, 84, 450, 84, dashed=True)
    p.text(12, 76, "user space", "dim", size=SMALL)
    p.text(12, 102, "kernel", "dim", size=SMALL)
    p.box(90, 108, 230, 40, "VFS: vfs_read\nfd is which file? may it read?", "page", size=SMALL)
    p.box(90, 176, 230, 40, "driver.c: fibdrv_read\nn is the file position", "page", size=SMALL)
    p.box(90, 244, 230, 34, "fib_compute: n → number", "blue", size=13)
    p.box(90, 298, 230, 34, "fib_decimal: number → digits", "blue", size=13)
    p.box(90, 352, 230, 40, "driver.c: copy_to_user\ndigits → buf", "page", size=SMALL)
    for y, to in ((62, 106), (148, 174), (216, 242), (278, 296), (332, 350)):
        p.arrow(205, y, 205, to)
    p.arrow(320, 372, 376, 372, 376, 42, 322, 42)
    p.text(382, 190, "how many", "dim", size=SMALL)
    p.text(382, 206, "bytes, or", "dim", size=SMALL)
    p.text(382, 222, "−errno", "dim", size=SMALL)
    p.text(14, 266, "stage:", "bold", size=13)
    p.text(14, 284, "you write", "dim", size=SMALL)
    p.text(14, 300, "these two", "dim", size=SMALL)
    return p


def doubling() -> Picture:
    """Draw 93 steps of a loop, and 7 steps of fast doubling."""
    n = 93
    p = Picture("doubling", f"F({n}): {n} steps of the loop, {n.bit_length()} of doubling", 330)
    left, unit = 22, 416 / n
    p.text(left - 8, 20, f"stage 1: k goes up by one, {n} steps", size=13)
    for k in range(n):
        x = left + k * unit
        p.line(x, 44, x, 38 if k % 10 else 34)
    p.line(left, 44, left + n * unit, 44, tip=True)
    p.text(left, 62, "0", "dim", "middle", SMALL)
    p.text(left + n * unit, 62, str(n), "dim", "middle", SMALL)
    p.text(left - 8, 94, f"stage 2: k doubles, {n.bit_length()} steps", size=13)
    p.line(left, 226, left + n * unit, 226)
    k = 0
    for bit in f"{n:b}":
        to = 2 * k + int(bit)
        p.arc(left + k * unit, 224, left + to * unit, (to - k) * 2.2 + 5)
        if to > 2:
            p.text(left + to * unit, 244, str(to), "dim", "middle", SMALL)
        k = to
    p.text(left - 8, 268, f"bits of {n}, from the top", size=13)
    k = 0
    for i, bit in enumerate(f"{n:b}"):
        k = 2 * k + int(bit)
        x = left - 8 + 62 * i
        p.box(x, 276, 28, 26, bit, "blue" if bit == "1" else "grey")
        p.text(x + 14, 320, f"k = {k}", "dim", "middle" if i else "middle", 11)
    return p


def lucas() -> Picture:
    """Draw the pairs of Lucas numbers on the way to F(20)."""
    n = 20
    p = Picture("lucas", f"Pairs of Lucas numbers on the way to F({n})", 388)
    number = [2, 1]
    while len(number) <= n:
        number.append(number[-1] + number[-2])
    p.text(14, 20, "Two squares make the outer numbers; their difference is the middle", size=SMALL)
    p.text(14, 38, "one. The next bit of n says which two stay (blue).", size=SMALL)
    k, y, first = 1, 54, 0
    p.text(14, y + 12, "bit 1", "dim", size=SMALL)
    p.text(14, y + 28, "k = 1", "dim", size=SMALL)
    p.box(70, y, 118, 30, f"L(1) = {number[1]}", "blue", size=13)
    p.box(198, y, 118, 30, f"L(2) = {number[2]}", "blue", size=13)
    for bit in f"{n:b}"[1:-1]:
        y += 62
        for column, to in ((first, 0), (first + 1, 2)):
            p.arrow(129 + 128 * column, y - 32, 129 + 128 * to, y - 2)
        first = int(bit)
        for i in range(3):
            value = f"L({2 * k + i}) = {number[2 * k + i]}"
            fill = "blue" if i in (first, first + 1) else "grey"
            p.box(70 + 128 * i, y, 118, 30, value, fill, size=13)
        k = 2 * k + first
        p.text(14, y + 12, f"bit {bit}", "dim", size=SMALL)
        p.text(14, y + 28, f"k = {k}", "dim", size=SMALL)
    half = (2 * number[k + 1] - number[k]) // 5
    y += 58
    for column in (first, first + 1):
        p.arrow(129 + 128 * column, y - 28, 129 + 128 * column, y - 2)
    p.box(70, y, 374, 56, "", "green")
    p.text(80, y + 23, f"F({k}) = (2 · {number[k + 1]} − {number[k]}) / 5 = {half}", size=13)
    words = f"F({n}) = L({k}) · F({k}) = {number[k]} · {half} = {number[k] * half:,}"
    p.text(80, y + 44, words, size=13)
    p.text(14, y + 18, "bit 0", "dim", size=SMALL)
    p.text(14, y + 34, "the end", "dim", size=SMALL)
    p.text(70, y + 76, "the only product of two different numbers", "dim", size=SMALL)
    return p


def clock() -> Picture:
    """Draw a clock with a resolution of 256 ns, and a computation that is shorter."""
    p = Picture("clock", "A clock in steps of 256 ns sees 0 or 256", 190)
    p.text(12, 20, "the clock shows", "dim", size=SMALL)
    for i in range(4):
        y, x = 110 - 24 * i, 30 + 104 * i
        p.line(x, y, x + 104, y, bold=2)
        if i:
            p.line(x, y, x, y + 24, dashed=True)
        p.text(x + 52, y - 6, f"{256 * i}", "dim", "middle", SMALL)
    p.line(20, 130, 452, 130, tip=True)
    p.text(452, 184, "time →", "dim", "end", SMALL)
    p.box(76, 124, 8, 12, "", "blue")
    p.text(80, 154, "begin 0, end 0:", "", "middle", SMALL)
    p.text(80, 170, "“0 ns”", "bold", "middle", SMALL)
    p.box(234, 124, 8, 12, "", "orange")
    p.text(238, 154, "begin 256, end 512:", "", "middle", SMALL)
    p.text(238, 170, "“256 ns”", "bold", "middle", SMALL)
    p.text(400, 154, "both took 10 ns", "dim", "middle", SMALL)
    return p


def latency() -> Picture:
    """Draw multiplications that depend on each other, and independent ones."""
    p = Picture(
        "latency", "Latency and throughput: four multiplications in 12 cycles, or in 6", 282
    )
    left, unit = 62, 31
    for top, words in (
        (30, "x = x * y: each needs the one before"),
        (162, "a*y, b*y, c*y, d*y: no one waits"),
    ):
        p.text(12, top - 10, words, size=13)
        for c in range(13):
            p.line(left + c * unit, top, left + c * unit, top + 96, dashed=True)
    for i in range(4):
        p.box(left + 3 * unit * i, 33 + 23 * i, 3 * unit, 20, "3 cycles", "orange", size=SMALL)
        p.text(52, 48 + 23 * i, f"{i + 1}.", "dim", "end", SMALL)
        p.box(left + unit * i, 165 + 23 * i, 3 * unit, 20, "3 cycles", "blue", size=SMALL)
        p.text(52, 180 + 23 * i, f"{i + 1}.", "dim", "end", SMALL)
    for c in range(0, 13, 3):
        p.text(left + c * unit, 274, str(c), "dim", "middle", SMALL)
    p.text(left + 11 * unit, 274, "cycles", "dim", "end", SMALL)
    p.box(left + 8 * unit + 4, 192, 104, 26, "done after 6", "page", "bold", SMALL)
    p.box(left + 1 * unit, 79, 124, 26, "done after 12", "page", "bold", SMALL)
    return p


def race() -> Picture:
    """Draw two calls that share a variable for the clock, over time."""
    p = Picture("race", "Two calls share kt: A reports 14.021 s", 344)
    for x, name in ((84, "A: F(100,000)"), (240, "B: F(10)"), (384, "kt, shared")):
        p.text(x, 20, name, "bold", "middle", 13)
    p.line(84, 30, 84, 330, dashed=True)
    p.line(240, 30, 240, 300, dashed=True)
    p.arrow(12, 36, 12, 332)
    p.text(20, 334, "time", "dim", size=SMALL)

    def step(y: int, x: int, words: str, kt: str, fill: str) -> None:
        p.box(x - 68, y, 136, 26, words, fill, "mono", SMALL)
        p.arrow(x + 68, y + 13, 326, y + 13)
        p.box(328, y, 122, 26, kt, "red" if "14.021 s!" in kt else "page", size=SMALL)

    step(40, 84, "kt = now", "14.020 s", "blue")
    p.box(60, 72, 48, 40, "com-\nputes", "blue", size=11)
    p.text(90, 132, "loses the CPU", "dim", size=11)
    step(142, 240, "kt = now", "14.021 s", "orange")
    p.box(224, 172, 32, 16, "", "orange")
    step(194, 240, "kt = now - kt", "0.000007 s", "orange")
    p.text(90, 214, "has it again", "dim", size=11)
    p.box(60, 226, 48, 40, "com-\nputes", "blue", size=11)
    step(272, 84, "kt = now - kt", "14.021 s!", "blue")
    p.text(152, 318, "A takes B's duration for its own", "dim", size=11)
    p.text(152, 334, "beginning: 14.021 − 0.000007", "dim", size=11)
    return p


def unwinding() -> Picture:
    """Draw the four steps of fibdrv_init, and the jump after a failure of each."""
    p = Picture("unwinding", "A step of init that fails undoes those before it", 392)
    steps = ("alloc_chrdev_region", "class_register", "cdev_add", "device_create")
    undo = ("cdev_del", "class_unregister", "unregister_chrdev_region")
    p.text(14, 20, "fibdrv_init, downwards", "bold", size=13)
    for i, step in enumerate(steps):
        y = 32 + 46 * i
        p.box(14, y, 146, 30, step, "blue", "mono", SMALL)
        p.arrow(87, y + 30, 87, y + 44)
    p.box(14, 216, 146, 30, "return 0", "green", "mono", SMALL)
    p.text(14, 264, "all went well:", "dim", size=SMALL)
    p.text(14, 280, "everything stays", "dim", size=SMALL)
    for i, call in enumerate(undo):
        y = 170 + 46 * i
        p.box(204, y, 186, 30, call, "orange", "mono", SMALL)
        p.arrow(297, y + 30, 297, y + 44)
    p.box(204, 308, 186, 30, "return err", "red", "mono", SMALL)
    p.text(204, 356, "nothing is left", "dim", size=SMALL)
    for i in range(len(steps)):
        y, to = 47 + 46 * i, 323 - 46 * i
        p.text(166, y - 5, "fails", "dim", size=11)
        if y == to:
            p.arrow(160, y, 202, y)
        else:
            x = 448 - 16 * i
            p.arrow(160, y, x, y, x, to, 392, to)
    p.text(14, 384, "fibdrv_exit is the same list, from device_destroy on.", size=SMALL)
    return p


def lost_line() -> Picture:
    """Draw two writers without a lock, which append at the same address."""
    used, a, b = 23, "55", "89"
    p = Picture("lost-line", "Two writers without a lock: one line is lost", 424)
    for x, name in ((78, "caller A"), (224, "caller B"), (384, "the notebook")):
        p.text(x, 20, name, "bold", "middle", 13)
    p.line(78, 30, 78, 262, dashed=True)
    p.line(224, 30, 224, 262, dashed=True)

    def step(y: int, x: int, words: str, result: str, fill: str) -> None:
        p.box(x - 66, y, 132, 26, words, fill, "mono", SMALL)
        p.arrow(x + 66, y + 13, 316, y + 13)
        p.box(318, y, 134, 26, result, "red" if "gone" in result else "page", size=SMALL)

    end = used + len(a) + 1
    step(38, 78, f"at = {used}", f"{used} bytes of text", "blue")
    step(76, 224, f"at = {used}", f"{used} bytes of text", "orange")
    step(114, 78, say(f"copy {a} to {used}"), f"{a} is there", "blue")
    step(152, 224, say(f"copy {b} to {used}"), f"{a} is gone: {b}", "orange")
    step(190, 78, f"used = {end}", f"{end} bytes of text", "blue")
    step(228, 224, f"used = {end}", f"{end} bytes of text", "orange")
    p.text(12, 284, "Two lines were written, and one is there. With a lock B waits:", size=SMALL)
    p.box(12, 298, 132, 40, f"A has the lock:\n{used} → {end}", "blue", size=SMALL)
    p.box(158, 298, 132, 40, "B waits", "page", size=SMALL, dashed=True)
    p.box(158, 352, 132, 40, f"B has the lock:\n{end} → {end + len(b) + 1}", "orange", size=SMALL)
    p.arrow(224, 338, 224, 350)
    p.arrow(290, 372, 316, 372)
    p.box(318, 352, 134, 40, f"{a} and {b},\n{end + len(b) + 1} bytes", "green", size=SMALL)
    words = "What belongs together: to look at the end, to copy, to move the end."
    p.text(12, 412, words, "dim", size=11)
    return p


PICTURES: tuple[Callable[[], Picture], ...] = (
    read,
    doubling,
    lucas,
    clock,
    latency,
    race,
    unwinding,
    lost_line,
)


# not exported
def experiment() -> Picture:
    """Draw a stage and its changed copy, from the patch to the verdict."""
    p = Picture("experiment", "An experiment: a stage and a changed copy of it, compared", 412)
    p.box(10, 10, 170, 44, "the stage\nstages/4-...", "grey", size=13)
    p.box(280, 10, 170, 44, "the copy, changed\nbuild/experiments/...", "blue", size=13)
    p.arrow(180, 32, 278, 32)
    p.text(229, 24, "4-shift-up", "dim", "middle", SMALL)
    p.text(229, 48, ".patch", "dim", "middle", SMALL)
    p.box(10, 80, 440, 32, "Are the numbers of both right?", "page", size=13)
    p.arrow(95, 54, 95, 78)
    p.arrow(365, 54, 365, 78)
    p.box(10, 138, 210, 44, "instructions of both,\ncounted in QEMU: the work", "blue", size=13)
    p.box(240, 138, 210, 44, "time of both, by the\nclock: what it costs", "blue", size=13)
    p.arrow(115, 112, 115, 136)
    p.arrow(345, 112, 345, 136)
    words = {-1: "less", 0: "~", 1: "more"}
    says = {-1: "faster", 1: "slower"}
    fills = {"faster": "green", "slower": "red", "mixed": "orange", "~": "grey"}
    p.text(10, 210, "The verdict on the copy:", "bold", size=13)
    p.text(312, 234, "time of the copy", "", "middle", SMALL)
    p.text(10, 290, "instructions", "", size=SMALL)
    p.text(10, 306, "of the copy", "", size=SMALL)
    for i, count in enumerate(words):
        p.text(158, 276 + 38 * i, words[count], "dim", "end", SMALL)
        p.text(222 + 90 * i, 252, words[count], "dim", "middle", SMALL)
        for j, clock_says in enumerate(words):
            claims = {says[one] for one in (count, clock_says) if one}
            verdict = "mixed" if len(claims) > 1 else claims.pop() if claims else "~"
            p.box(178 + 90 * j, 258 + 38 * i, 88, 30, verdict, fills[verdict], size=13)
    p.text(
        10, 388, "~ claims nothing. mixed: the metrics disagree, and there is", "dim", size=SMALL
    )
    p.text(10, 404, "something to find out.", "dim", size=SMALL)
    return p


PICTURES = (*PICTURES, experiment)
# /not exported
