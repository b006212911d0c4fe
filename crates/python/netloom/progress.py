"""How far a run or a sweep is, for callables and for terminals."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Progress:
    """Where a run or a sweep stands."""

    phase: str
    """What is being done, in a few words."""
    now_ps: int
    """Virtual time reached."""
    end_ps: int
    """Virtual time of the end; 0 before a simulation, the limit if the workload decides."""
    events: int
    """Events so far."""
    done: int
    """Points of a sweep that have ended (chains of points, where an axis goes until saturation)."""
    points: int
    """Points of a sweep (chains likewise); 0 for a single run, and before the first has ended."""

    @property
    def fraction(self) -> float:
        """How much is done, from 0 to 1."""
        done, all_of_it = (self.done, self.points) if self.points else (self.now_ps, self.end_ps)
        return done / all_of_it if all_of_it else 0.0


Listener = Callable[[Progress], object]
"""Is called with where a run stands, a few times a second, in the thread that called `run`. What it raises ends the run."""

Heard = Callable[[str, int, int, int, int, int], object]
"""As the compiled part calls it."""


class Line:
    """One line on a terminal (or in a notebook) that is written over, and removed at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.begun = time.monotonic()
        self.width = 0

    def __call__(self, at: Progress) -> None:
        """Writes the line anew."""
        rate = at.events / max(time.monotonic() - self.begun, 1e-3) / 1e6
        if at.points:
            text = f"{at.fraction:4.0%}  {at.done} of {at.points} points"
        elif at.end_ps:
            text = f"{at.fraction:4.0%}  {at.now_ps / 1e6:,.3f} of {at.end_ps / 1e6:,.3f} us  {rate:.1f} M events/s"
        else:
            text = at.phase
        self._write(text)

    def end(self) -> None:
        """Removes the line."""
        if self.width:
            self._write("")
            self.stream.write("\r")
            self.stream.flush()

    def _write(self, text: str) -> None:
        self.stream.write("\r" + text.ljust(self.width))
        self.stream.flush()
        self.width = len(text)


class Report:
    """What `progress` asks for: nothing, a line, or calls; a context that ends the line."""

    def __init__(self, progress: Listener | bool | None) -> None:
        self.line = Line() if progress is True else None
        self.listener: Listener | None = self.line if self.line or isinstance(progress, bool) else progress

    def heard(self) -> Heard | None:
        """What the compiled part calls; None if nobody wants to hear."""
        listener = self.listener
        if listener is None:
            return None
        return lambda *standing: listener(Progress(*standing))

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *_: object) -> None:
        if self.line:
            self.line.end()
