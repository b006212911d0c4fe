"""Sweeps: the tidy table, what is kept, points that fail."""

from __future__ import annotations

import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any

import netloom
from netloom.text import text_of
from setting import PROGRAM, program, swept


class Sweeps(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_row_for_each_point(self) -> None:
        heard: list[netloom.Progress] = []
        table = netloom.sweep(swept(), threads=2, progress=heard.append)
        self.assertEqual(list(table["load"]), [0.1, 0.3, 0.5])
        self.assertEqual(list(table["state"]), ["ok"] * 3)
        means = list(table["latency_ps.mean"])
        self.assertEqual(means, sorted(means))
        self.assertEqual((heard[-1].done, heard[-1].points, heard[-1].fraction), (3, 3, 1.0))

    def test_a_point_is_the_run_of_its_values(self) -> None:
        out = self.folder / "sweep"
        table = netloom.sweep(swept(), out)
        read = netloom.read(out)
        assert isinstance(read, netloom.SweepResults)
        single = swept()
        del single["sweep"]
        for load, mean, point in zip(table["load"], table["latency_ps.mean"], read.ids, strict=True):
            run = netloom.run(single, set={"job.0.load": load})
            self.assertEqual(run.summary["latency_ps"]["mean"], mean)
            self.assertEqual(run.fingerprint, read.summary(point)["fingerprint"])

    def test_what_is_kept_is_not_run_again(self) -> None:
        out = self.folder / "sweep"
        first = netloom.sweep(swept(), out)
        points = sorted((out / "points").iterdir())
        written = [path.stat().st_mtime_ns for path in points]
        self.assertTrue(first.equals(netloom.sweep(swept(), out)))
        self.assertEqual(written, [path.stat().st_mtime_ns for path in points])
        netloom.sweep(swept(), out, again=["ok"])
        self.assertNotEqual(written, [path.stat().st_mtime_ns for path in points])
        read = netloom.read(out, frames="pandas")
        assert isinstance(read, netloom.SweepResults)
        self.assertEqual(read.axes, ["load"])
        self.assertEqual(list(read.points["load"]), list(first["load"]))
        self.assertEqual(list(read.tables), ["points"])

    @unittest.skipUnless(PROGRAM, "the program was not built")
    def test_the_program_goes_on_with_our_sweep(self) -> None:
        file = self.folder / "sweep.toml"
        file.write_text(text_of(swept()))
        with_us, with_it = self.folder / "ours", self.folder / "its"
        netloom.sweep(file, with_us)
        done = program("sweep", file, "--out", with_it)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("points.csv", "sweep.json"):
            self.assertEqual((with_us / name).read_text(), (with_it / name).read_text())
        self.assertIn("0 run now, 3 kept", program("sweep", file, "--out", with_us).stdout)

    def test_points_that_fail_are_rows_with_a_warning(self) -> None:
        axis: dict[str, Any] = {"path": "job.0.load", "values": [0.3]}
        terminals: dict[str, Any] = {"path": "fabric.terminals", "values": [4, 20000]}
        experiment = swept(sweep={"axis": [axis, terminals]})
        with self.assertWarnsRegex(netloom.PointsFailed, "terminals=20000.*: a router has 20000 ports"):
            table = netloom.sweep(experiment, threads=1)
        self.assertEqual(list(table["state"]), ["ok", "failed"])

    def test_what_is_run_again_is_what_was_named(self) -> None:
        out = self.folder / "again"
        netloom.sweep(swept(), out)
        results = netloom.read(out)
        assert isinstance(results, netloom.SweepResults)

        def stamps() -> dict[str, int]:
            return {path.name: path.stat().st_mtime_ns for path in (out / "points").glob("*.json")}

        before = stamps()
        for word in ("failed", "", ()):
            netloom.sweep(swept(), out, again=word)
            self.assertEqual(stamps(), before, f"{word!r} names no point")
        netloom.sweep(swept(), out, again=results.ids[0])
        changed = [name for name, stamp in stamps().items() if stamp != before[name]]
        self.assertEqual(changed, [f"{results.ids[0]}.json"])

    def test_mistakes_come_before_the_first_point(self) -> None:
        out = self.folder / "sweep"
        axis = {"path": "job.0.load", "values": [0.1, "much"]}
        with self.assertRaises(netloom.ExperimentError) as refused:
            netloom.sweep(swept(sweep={"axis": [axis]}), out)
        self.assertGreater(len(refused.exception.mistakes), 0)
        self.assertFalse(out.exists())
        single = swept()
        del single["sweep"]
        self.assertRaisesRegex(netloom.ExperimentError, r"has no \[sweep\]", netloom.sweep, single, out)
        self.assertRaisesRegex(netloom.ExperimentError, "series of runs", netloom.run, swept())

    def test_saturation_is_a_table(self) -> None:
        axis = {"path": "job.0.load", "from": 0.5, "to": 1.5, "count": 3, "until": "saturated"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", netloom.Remark)
            netloom.sweep(swept(sweep={"axis": [axis]}), self.folder / "sweep")
        read = netloom.read(self.folder / "sweep")
        self.assertEqual(sorted(read.tables), ["points", "saturation"])


if __name__ == "__main__":
    unittest.main()
