"""What the tests share: experiments, and the program if it was built beside the package."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("NETLOOM_PROGRAM")

SWITCH: dict[str, Any] = {
    "experiment": {"duration": "20 us", "seed": 3},
    "fabric": {
        "topology": "single-switch",
        "terminals": 4,
        "link": {
            "terminal": {
                "bandwidth": "12.5 GB/s",
                "latency": "10 ns",
                "credit_delay": "10 ns",
                "vc_buffer": "8 KiB",
            }
        },
    },
    "routing": {"algorithm": "shortest-path"},
    "job": [{"workload": "uniform", "message": "512 B", "load": 0.3}],
    "model": {"kind": "packet", "packet": "512 B", "chunk": "64 B"},
}

DRAGONFLY = ROOT / "examples" / "dragonfly-72.toml"


def swept(**more: Any) -> dict[str, Any]:
    """The switch, swept over its load."""
    axis = {"path": "job.0.load", "values": [0.1, 0.3, 0.5]}
    return {**SWITCH, "sweep": {"axis": [axis]}, **more}


def program(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Calls the program."""
    assert PROGRAM is not None
    words = [PROGRAM, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def without_performance(summary: dict[str, Any]) -> dict[str, Any]:
    """What equal runs have in common."""
    return {key: value for key, value in summary.items() if key != "performance"}


def printed(*arguments: str | Path) -> dict[str, Any]:
    """The summary that the program prints."""
    done = program(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return without_performance(json.loads(done.stdout))
