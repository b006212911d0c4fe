"""What runs and sweeps leave, at hand or read back from their directories."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

from netloom import _netloom
from netloom.errors import InputError
from netloom.frames import Frame, Frames, Tables, checked, in_directory


class Results:
    """What a run left: its summary, what that is worth, and its tables."""

    def __init__(self, summary: str, tables: Tables, text: str, notes: list[str], out: Path | None) -> None:
        self.summary: dict[str, Any] = json.loads(summary)
        """The summary, with the keys of `summary.json`."""
        self.tables: Tables = tables
        """The tables by name, as frames."""
        self.text: str = text
        """The summary for people, as the program prints it."""
        self.notes: list[str] = notes
        """What was remarked on the way, a line each; none if read from a directory."""
        self.out: Path | None = out
        """The directory of the results, if there is one."""

    @property
    def verdict(self) -> str:
        """Whether the numbers can be trusted: "ok", "not-stationary", "saturated", "incomplete", "starved" or "deadlock"."""
        return str(self.summary["verdict"]["state"])

    @property
    def flags(self) -> list[str]:
        """What else is to be known of the numbers; the reference explains each flag."""
        return list(self.summary["verdict"]["flags"])

    @property
    def detail(self) -> list[str]:
        """The reasons of the verdict, a line each."""
        return list(self.summary["verdict"]["detail"])

    @property
    def fingerprint(self) -> str:
        """The fingerprint of all that happened: equal for equal runs."""
        return str(self.summary["fingerprint"])

    @property
    def manifest(self) -> dict[str, Any] | None:
        """Where the run came from (`manifest.json`); None without a directory."""
        return None if self.out is None else _object(self.out / "manifest.json")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        flags = f" ({', '.join(self.flags)})" if self.flags else ""
        return f"<netloom.Results {self.verdict}{flags}, fingerprint {self.fingerprint}>"


class SweepResults:
    """What a sweep left: a table with a row for each point."""

    def __init__(self, out: Path, frames: Frames | None) -> None:
        listed = _object(out / "sweep.json")
        if missing := {"axes", "points"} - listed.keys():
            raise InputError(f"error: `{out / 'sweep.json'}` is of no sweep: it lacks {', '.join(sorted(missing))}")
        self.out: Path = out
        """The directory of the sweep."""
        self.axes: list[str] = list(listed["axes"])
        """Names of the axes."""
        self.ids: list[str] = [str(point["id"]) for point in listed["points"]]
        """The points' ids, in the order of the rows."""
        self.tables: Tables = in_directory(out, frames)
        """The tables by name: `points`, and `saturation` if an axis goes until saturation."""

    @property
    def points(self) -> Frame:
        """The tidy table: axes, seed, state, flags, and each number of the summaries (`latency_ps.mean`)."""
        return self.tables["points"]

    def summary(self, point: str) -> dict[str, Any]:
        """The summary of a point by its id; that of one that failed cannot be had."""
        record = _object(self.out / "points" / f"{point}.json")
        if "summary" not in record:
            raise InputError(f"error: point {point} failed: {record.get('error', '')}")
        return dict(record["summary"])

    def __repr__(self) -> str:
        return f"<netloom.SweepResults {len(self.ids)} points over {', '.join(self.axes)}>"


def read(directory: str | os.PathLike[str], *, frames: Frames | None = None) -> Results | SweepResults:
    """Reads a directory that `run(.., out=..)`, `sweep(.., out=..)`, `netloom run --out` or `netloom sweep --out` wrote."""
    checked(frames)
    out = Path(directory).absolute()
    if (out / "sweep.json").is_file():
        return SweepResults(out, frames)
    if not (out / "summary.json").is_file():
        why = "holds neither a run nor a finished sweep" if out.is_dir() else "is no directory"
        raise InputError(f"error: `{out}` {why}\n  help: `netloom run --out` and `netloom sweep --out` write some")
    summary = _text(out / "summary.json")
    return Results(summary, in_directory(out, frames), _netloom.shown(summary), [], out)


def of_run(done: _netloom.Done, out: Path | None, frames: Frames | None) -> Results:
    """Of a run that has just ended."""
    tables = Tables({name: partial(done.parquet, name) for name in done.tables}, frames)
    return Results(done.summary, tables, done.text, done.notes, out)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"error: cannot read `{path}`: {error}") from error


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"error: `{path}` is not whole: {error}") from error
    return dict(value)
