"""The example draws its curves, and they are those that theory expects."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from setting import ROOT

EXAMPLE = ROOT / "crates" / "python" / "examples" / "latency_load.py"


class Example(unittest.TestCase):
    def test_it_draws_latency_over_load(self) -> None:
        here = Path.cwd()
        with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"MPLBACKEND": "Agg"}):
            os.chdir(folder)
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as line:
                    made = runpy.run_path(str(EXAMPLE))
                picture = Path("latency-load.svg").read_text(encoding="utf-8")
            finally:
                os.chdir(here)
        self.assertIn("</svg>", picture)
        self.assertIn("of 14 points", line.getvalue())
        points = made["points"]
        states = {name[0]: list(rows["state"]) for name, rows in points.group_by("algorithm", maintain_order=True)}
        # One global link is as fast as each of the 8 terminals whose packets it carries: minimal routes saturate at 1/8.
        self.assertEqual(states["minimal"], ["ok"] * 3 + ["saturated"] * 4)
        minimal = points.filter(points["algorithm"] == "minimal")
        for accepted in minimal["throughput.accepted_fraction"][3:]:
            self.assertAlmostEqual(accepted, 0.125, delta=0.001)
        self.assertTrue(minimal["latency_ps.mean"].is_sorted())
        # Detours over the other groups carry up to about a half.
        self.assertNotIn("saturated", states["ugal-l"])


if __name__ == "__main__":
    unittest.main()
