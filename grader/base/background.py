# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run work in background threads. Ctrl-C still interrupts a caller that waits for a result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from grader.base import scratch

T = TypeVar("T")
STEP = 0.2  # a waiting thread checks for signals at this interval, in seconds


class Background(Generic[T]):
    """A function that runs in its own daemon thread, started at once."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._value: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()

    def _guarded(self) -> None:
        try:
            self._value.append(self._work())
        except BaseException as error:  # exception of the thread, which result() raises again
            self._error = error

    def result(self) -> T:
        """Wait for the work to end and return its value, or raise its exception."""
        while self._thread.is_alive():
            self._thread.join(STEP)
            scratch.check_stopped()
        if self._error is not None:
            raise self._error
        return self._value[0]


class WorkerPool(Generic[T]):
    """A list of functions, started in order in at most at_a_time threads."""

    def __init__(self, works: Sequence[Callable[[], T]], at_a_time: int) -> None:
        self._done = [threading.Event() for _ in works]
        self._value: dict[int, T] = {}
        self._error: BaseException | None = None
        self._left = list(enumerate(works))
        self._lock = threading.Lock()
        count = min(at_a_time, len(works))
        self._threads = [threading.Thread(target=self._worker, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _worker(self) -> None:
        while self._error is None:
            with self._lock:
                if not self._left:
                    return
                number, work = self._left.pop(0)
            try:
                self._value[number] = work()
            except BaseException as error:
                self._error = error
            self._done[number].set()

    def result(self, number: int) -> T:
        """Wait for the function with this index and return its value.

        Raise the exception of any function that failed.
        """
        while not self._done[number].wait(STEP):
            scratch.check_stopped()
            if self._error is not None:
                raise self._error
        if self._error is not None:
            raise self._error
        return self._value[number]

    def wait(self) -> None:
        """Wait for all functions to end, or for one to fail. Raise no exception of a function."""
        while any(thread.is_alive() for thread in self._threads):
            self._threads[0].join(STEP)
            scratch.check_stopped()
