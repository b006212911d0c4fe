"""Netloom in Python: run experiments, sweep them, read their results.

>>> import netloom
>>> results = netloom.run("examples/dragonfly-72.toml", set={"job.0.load": 0.5})  # doctest: +SKIP
>>> results.verdict, results.summary["latency_ps"]["mean"]  # doctest: +SKIP
>>> results.tables["links"]  # doctest: +SKIP

What an experiment holds, and what its results mean, is described in Netloom's README and reference. Times are integer picoseconds.
"""

from netloom._netloom import version as __version__
from netloom.errors import (
    Error,
    ExperimentError,
    FramesError,
    InputError,
    InternalError,
    LimitError,
    Mistake,
    OutputError,
    PointsFailed,
    Remark,
    UsageError,
    ViolatedError,
)
from netloom.frames import Frame, Frames, Tables
from netloom.progress import Progress
from netloom.results import Results, SweepResults, read
from netloom.simulate import Experiment, resume, run, sweep

__all__ = [
    "Error",
    "Experiment",
    "ExperimentError",
    "Frame",
    "Frames",
    "FramesError",
    "InputError",
    "InternalError",
    "LimitError",
    "Mistake",
    "OutputError",
    "PointsFailed",
    "Progress",
    "Remark",
    "Results",
    "SweepResults",
    "Tables",
    "UsageError",
    "ViolatedError",
    "__version__",
    "read",
    "resume",
    "run",
    "sweep",
]
