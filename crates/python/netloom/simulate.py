"""Runs and sweeps."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from netloom import _netloom
from netloom.errors import PointsFailed, Remark
from netloom.frames import Frame, Frames, checked, chosen
from netloom.progress import Listener, Report
from netloom.results import Results, SweepResults, of_run, read
from netloom.text import overrides, text_of

Experiment: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""An experiment: its file; its text, if there is a line break in it; or a dict of its sections, `job` being a list of dicts."""

LISTED = 20
"""Most points that failed which are listed."""


def run(
    experiment: Experiment,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - as the option of the program
    progress: Listener | bool | None = None,
    *,
    force: bool = False,
    check: bool = False,
    memory_limit: int | str | None = None,
    frames: Frames | None = None,
) -> Results:
    """Runs an experiment.

    :param experiment: file, text or dict. Files that a text or a dict names are meant from the current directory.
    :param out: directory for manifest, summary, tables and page, which must not exist; without it all is kept in memory.
    :param threads: threads; results do not depend on it. One if left out.
    :param set: values that override those of the experiment: `{"job.0.load": 0.5}`; None takes a key out.
    :param progress: called with a `Progress` a few times a second; True for a line on standard error.
    :param force: replace `out`, if it holds an earlier run.
    :param check: run the checkers.
    :param memory_limit: memory that the run may need: bytes, "8 GiB" or "none". What the machine has if left out.
    :param frames: kind of the tables: "polars", "pandas" or "arrow". What is installed if left out.

    The interpreter is free for other threads meanwhile. An interruption (Ctrl-C) ends the run; with `out` a checkpoint is left, with which
    `resume` goes on.
    """
    checked(frames)
    words = _words(experiment, set, out, force, threads, check, memory_limit)
    with Report(progress) as report:
        done = _netloom.run(words, report.heard())
    _remark(done.notes)
    return of_run(done, None if out is None else Path(out).absolute(), frames)


def resume(
    out: str | os.PathLike[str],
    threads: int | None = None,
    progress: Listener | bool | None = None,
    *,
    memory_limit: int | str | None = None,
    frames: Frames | None = None,
) -> Results:
    """Goes on with a run whose directory would have been `out`, and that was interrupted; gives the results that it would have had.

    It needs the checkpoint `OUT.checkpoint` of the same build, and reads files by the names that the run knew: if it began in another directory, the
    process is in that one meanwhile. Results that could not be written to `out` are put in place.
    """
    checked(frames)
    with Report(progress) as report:
        notes = _netloom.resume(os.fspath(out), threads, _limit(memory_limit), report.heard())
    _remark(notes)
    place = Path(out)
    results = read(place.with_suffix("") if place.suffix == ".checkpoint" and not place.is_dir() else place, frames=frames)
    assert isinstance(results, Results)
    results.notes.extend(notes)
    return results


def sweep(
    experiment: Experiment,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - as the option of the program
    progress: Listener | bool | None = None,
    *,
    again: str | Sequence[str] = (),
    check: bool = False,
    memory_limit: int | str | None = None,
    frames: Frames | None = None,
) -> Frame:
    """Runs all points of an experiment's `[sweep]`; gives the tidy table, a row for each.

    :param out: directory of the points and their table. The same call goes on there, and runs nothing that is kept. Without it nothing is kept.
    :param threads: points that run at a time, each in one thread. As many as there are processors if left out.
    :param again: a state ("failed", "saturated"), an id, or several: points that are run again though they are kept.

    All else is as for `run`. Points that fail are rows of the state "failed"; a warning (`PointsFailed`) says why.
    """
    kind = chosen(frames)
    asked = [again] if isinstance(again, str) else list(again)
    # A worker that is left to itself may still write while the folder goes.
    with tempfile.TemporaryDirectory(prefix="netloom-", ignore_cleanup_errors=True) as folder:
        where = Path(folder) / "sweep" if out is None else Path(out)
        words = _words(experiment, set, where, False, threads, check, memory_limit)
        try:
            with Report(progress) as report:
                failed, notes = _netloom.sweep(words, asked, report.heard())
        except KeyboardInterrupt as interruption:
            if out is None:
                # Nothing of it is kept, whatever the note says.
                interruption.__dict__.pop("__notes__", None)
            raise
        table = SweepResults(where, kind).points
    _remark(notes)
    if failed:
        lines = [f"{name}  {values}: {why}" for name, values, why in failed[:LISTED]]
        more = [f"and {len(failed) - LISTED} more"] if len(failed) > LISTED else []
        warnings.warn("\n  ".join([f"{len(failed)} points failed", *lines, *more]), PointsFailed, stacklevel=2)
    return table


def _remark(notes: Sequence[str]) -> None:
    for note in notes:
        warnings.warn(note, Remark, stacklevel=3)


def _words(
    experiment: Experiment,
    values: Mapping[str, Any] | None,
    out: str | os.PathLike[str] | None,
    force: bool,
    threads: int | None,
    check: bool,
    memory_limit: int | str | None,
) -> _netloom.Words:
    file: str | None = None
    text: str | None = None
    if isinstance(experiment, Mapping):
        text = text_of(experiment)
    elif isinstance(experiment, str) and "\n" in experiment:
        text = experiment
    else:
        file = os.fspath(experiment)
    directory = None if out is None else os.fspath(out)
    return (file, text, overrides(values or {}), directory, force, threads, check, _limit(memory_limit))


def _limit(memory_limit: int | str | None) -> str | None:
    return f"{memory_limit} B" if isinstance(memory_limit, int) else memory_limit
