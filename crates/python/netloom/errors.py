"""Why something could not be done. The text of each exception is what the program prints: line, caret, reason, remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Mistake(NamedTuple):
    """One mistake in an experiment or an input file. Source, line and column are None if it concerns no single place."""

    source: str | None
    """Name of the file, `experiment` for a text or a dict, or `--set` for an entry of `set`."""
    line: int | None
    """Line, from 1; of a dict it is that of the text in the message."""
    column: int | None
    """Column, from 1, in characters."""
    message: str
    """What is wrong."""
    help: list[str]
    """Ways to mend it."""


class Error(Exception):
    """Something could not be done; `mistakes` lists what is wrong with an experiment, all at once."""

    def __init__(
        self,
        text: str,
        mistakes: Sequence[tuple[str | None, int | None, int | None, str, list[str]]] = (),
    ) -> None:
        super().__init__(text)
        self.mistakes: list[Mistake] = [Mistake(*mistake) for mistake in mistakes]


class InternalError(Error):
    """A fault of Netloom itself."""


class UsageError(Error):
    """What was asked for makes no sense."""


class ExperimentError(Error):
    """The experiment is invalid, or asks for what this build cannot do."""


class InputError(Error):
    """An input file is missing, unreadable or not text."""


class LimitError(Error):
    """It needs more memory than it may use."""


class OutputError(Error):
    """Results could not be written."""


class ViolatedError(Error):
    """A checker (`check=True`) found that the simulator broke one of its own rules."""


class FramesError(Error, ImportError):
    """The library of the frames that are wanted is not installed, or none is."""


class Remark(UserWarning):
    """What the program would say on its standard error: a key without effect, say. A run's `notes` hold the same lines."""


class PointsFailed(UserWarning):
    """Points of a sweep could not be run; their rows have the state "failed" and no numbers."""
