"""Runs: the same as the program's, by file, text and dict; tables; output directories; mistakes."""

from __future__ import annotations

import sys
import tempfile
import unittest
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import netloom
from netloom.text import overrides, text_of
from setting import DRAGONFLY, PROGRAM, ROOT, SWITCH, printed, program, without_performance

SHORT = {"experiment.duration": "20 us"}


class Runs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_dict_its_text_and_its_file_are_one_run(self) -> None:
        text = text_of(SWITCH)
        file = self.folder / "switch.toml"
        file.write_text(text)
        runs = [netloom.run(SWITCH), netloom.run(text), netloom.run(file), netloom.run(str(file))]
        self.assertEqual(len({run.fingerprint for run in runs}), 1)
        first = runs[0]
        self.assertEqual((first.verdict, first.flags), ("ok", []))
        self.assertGreater(first.summary["bytes_delivered"], 0)
        self.assertIn("fingerprint", str(first))
        self.assertIn("ok", repr(first))
        self.assertIsNone(first.manifest)
        other = netloom.run(SWITCH, set={"job.0.load": 0.5})
        self.assertNotEqual(other.fingerprint, first.fingerprint)
        self.assertEqual(other.summary["experiment"]["job"][0]["load"], 0.5)

    @unittest.skipUnless(PROGRAM, "the program was not built")
    def test_it_is_the_run_of_the_program(self) -> None:
        run = netloom.run(DRAGONFLY, set=SHORT)
        words = ("run", DRAGONFLY, "--set", "experiment.duration=20 us")
        self.assertEqual(without_performance(run.summary), printed(*words))
        lines = program(*words).stdout.splitlines()
        measured = ("run time", "speed")
        same = [line for line in lines if not line.startswith(measured)]
        self.assertEqual([line for line in run.text.splitlines() if not line.startswith(measured)], same)

    def test_threads_change_nothing(self) -> None:
        one = netloom.run(DRAGONFLY, set=SHORT)
        engine = {"scheduler": "conservative", "partitions": 4, "pin": True}
        settings = {**SHORT, **{f"engine.{key}": value for key, value in engine.items()}}
        with warnings.catch_warnings():
            # That fewer threads than asked for were used may be remarked.
            warnings.simplefilter("ignore", netloom.Remark)
            two = netloom.run(DRAGONFLY, threads=2, set=settings)
        self.assertEqual(without_performance(one.summary), without_performance(two.summary))
        self.assertEqual(two.summary["performance"]["partitions"], 4)

    def test_tables_are_frames_of_each_kind(self) -> None:
        kinds: list[netloom.Frames] = ["polars", "pandas", "arrow"]
        columns = []
        for kind in kinds:
            links = netloom.run(SWITCH, frames=kind).tables["links"]
            self.assertEqual(type(links).__module__.split(".")[0], {"arrow": "pyarrow"}.get(kind, kind))
            chunks = links["chunks"]
            columns.append([int(value) for value in (chunks.to_pylist() if kind == "arrow" else chunks)])
        self.assertGreater(sum(columns[0]), 0)
        self.assertEqual(columns[0], columns[1])
        self.assertEqual(columns[0], columns[2])
        tables = netloom.run(SWITCH).tables
        self.assertIs(tables["links"], tables["links"])
        self.assertIn("topology", tables)
        self.assertEqual(len(list(tables)), len(tables))
        self.assertRaises(KeyError, lambda: tables["nothing"])

    def test_a_directory_is_read_back(self) -> None:
        out = self.folder / "out"
        run = netloom.run(SWITCH, out, set={"output.pairs": True})
        self.assertEqual(run.out, out)
        manifest = run.manifest
        assert manifest is not None
        # No command repeats a dict.
        self.assertNotIn("command", manifest)
        self.assertEqual(manifest["fingerprint"], run.fingerprint)
        self.assertTrue((out / "report.html").is_file())
        again = netloom.read(out, frames="polars")
        assert isinstance(again, netloom.Results)
        self.assertEqual(again.summary, run.summary)
        self.assertEqual(again.text, run.text)
        self.assertEqual(set(again.tables), set(run.tables))
        for name in run.tables:
            self.assertTrue(again.tables[name].equals(run.tables[name]), name)
        with self.assertRaises(netloom.OutputError) as refused:
            netloom.run(SWITCH, out)
        self.assertIn("--force", str(refused.exception))
        forced = netloom.run(SWITCH, out, force=True)
        self.assertNotIn("pairs", forced.tables)

    @unittest.skipUnless(PROGRAM, "the program was not built")
    def test_a_directory_of_the_program_is_read(self) -> None:
        out = self.folder / "out"
        done = program("run", DRAGONFLY, "--set", "experiment.duration=20 us", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        read = netloom.read(out)
        assert isinstance(read, netloom.Results) and read.manifest is not None
        self.assertEqual(read.manifest["seed"], 1)
        self.assertEqual(read.tables["topology"].height, read.tables["links"].height)
        run = netloom.run(DRAGONFLY, self.folder / "ours", set=SHORT)
        # The same, but that we know a text to be one.
        command = read.manifest["command"].replace("20 us", '"20 us"')
        self.assertEqual(run.manifest and run.manifest["command"], command)
        self.assertEqual(run.manifest and run.manifest["revision"], read.manifest["revision"])
        for name in read.tables:
            self.assertEqual((out / f"{name}.parquet").read_bytes(), (self.folder / "ours" / f"{name}.parquet").read_bytes())

    def test_tables_in_csv_are_read(self) -> None:
        out = self.folder / "out"
        netloom.run(SWITCH, out)
        links = netloom.read(out, frames="pandas").tables["links"]
        links.to_csv(out / "links.csv", index=False)
        (out / "links.parquet").unlink()
        kinds: list[netloom.Frames] = ["polars", "pandas", "arrow"]
        for kind in kinds:
            read = netloom.read(out, frames=kind).tables["links"]["chunks"]
            values = read.to_pylist() if kind == "arrow" else list(read)
            self.assertEqual(values, list(links["chunks"]))

    def test_what_is_no_directory_of_results_is_refused(self) -> None:
        self.assertRaisesRegex(netloom.InputError, "neither a run nor", netloom.read, self.folder)
        self.assertRaisesRegex(netloom.InputError, "no directory", netloom.read, self.folder / "x")
        (self.folder / "summary.json").write_text("{")
        self.assertRaisesRegex(netloom.InputError, "no summary", netloom.read, self.folder)

    def test_remarks_are_warnings(self) -> None:
        with self.assertWarnsRegex(netloom.Remark, r"note: .*\[\[plot\]\]"):
            run = netloom.run({**SWITCH, "plot": [{"name": "x", "x": "load", "y": "latency_ps.mean"}]})
        self.assertTrue(any("[[plot]]" in note for note in run.notes))

    def test_limits_and_checkers(self) -> None:
        self.assertEqual(netloom.run(SWITCH, check=True, memory_limit="none").verdict, "ok")
        with self.assertRaises(netloom.LimitError) as refused:
            netloom.run(SWITCH, memory_limit=1000)
        self.assertIn("memory", str(refused.exception))
        for wrong in ("8", "many"):
            self.assertRaisesRegex(netloom.UsageError, "memory_limit", netloom.run, SWITCH, memory_limit=wrong)
        for threads in (0, -1, 1 << 40):
            self.assertRaisesRegex(netloom.UsageError, "threads", netloom.run, SWITCH, threads=threads)


class Mistakes(unittest.TestCase):
    @unittest.skipUnless(PROGRAM, "the program was not built")
    def test_the_text_is_that_of_the_program(self) -> None:
        bad = sorted((ROOT / "crates" / "cli" / "tests" / "bad").glob("*.toml"))
        self.assertGreater(len(bad), 20)
        kinds = {1: netloom.InternalError, 2: netloom.UsageError, 3: netloom.ExperimentError, 4: netloom.InputError}
        for file in bad[::5]:
            done = program("run", file)
            with self.subTest(file.name), warnings.catch_warnings():
                warnings.simplefilter("ignore", netloom.Remark)
                with self.assertRaises(netloom.Error) as refused:
                    netloom.run(file)
                self.assertIs(type(refused.exception), kinds[done.returncode])
                self.assertTrue(done.stderr.strip().endswith(str(refused.exception)), done.stderr)

    def test_mistakes_have_their_places(self) -> None:
        with self.assertRaises(netloom.ExperimentError) as refused:
            netloom.run({**SWITCH, "routing": {"algorithm": "shortest-pat"}, "fabrics": {}})
        first = refused.exception.mistakes[0]
        lines = text_of({**SWITCH, "routing": {"algorithm": "shortest-pat"}}).splitlines()
        self.assertEqual((first.source, first.line), ("experiment", lines.index('algorithm = "shortest-pat"') + 1))
        self.assertEqual(first.column, len("algorithm = ") + 1)
        self.assertIn('did you mean "shortest-path"?', first.help)
        self.assertIn("  = help: did you mean", str(refused.exception))
        self.assertEqual(len(refused.exception.mistakes), 2)
        with self.assertRaises(netloom.ExperimentError) as refused:
            netloom.run(SWITCH, set={"job.0.load": "much"})
        self.assertEqual(refused.exception.mistakes[0].source, "--set")

    def test_of_many_mistakes_the_first_are_listed(self) -> None:
        with self.assertRaises(netloom.ExperimentError) as refused:
            netloom.run({**SWITCH, **{f"section{number}": {} for number in range(300)}})
        mistakes = refused.exception.mistakes
        self.assertEqual((len(mistakes), mistakes[100].message), (101, "200 more errors"))
        self.assertIsNone(mistakes[100].line)
        self.assertIn("300 errors found; the first 100 are shown", str(refused.exception))
        # A reader that counts the later ones itself takes no place among the first.
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "pairs"
            file.write_text("word word\n" * 5000)
            pairs = {"job.0.workload": "pairs", "job.0.file": str(file)}
            bare = {"job.0.load": None, "job.0.message": None}
            with self.assertRaises(netloom.InputError) as read:
                netloom.run(SWITCH, set={**pairs, **bare})
        mistakes = read.exception.mistakes
        self.assertEqual([mistake.line for mistake in mistakes], [*range(1, 101), None])
        self.assertEqual(mistakes[100].message, "4900 more errors")

    def test_a_missing_file_is_an_input_error(self) -> None:
        for call in (netloom.run, netloom.sweep):
            self.assertRaisesRegex(netloom.InputError, "cannot read `nowhere.toml`", call, "nowhere.toml")


class Texts(unittest.TestCase):
    @unittest.skipIf(sys.version_info < (3, 11), "this Python reads no TOML")
    def test_a_dict_becomes_the_same_toml(self) -> None:
        import tomllib

        values: dict[str, Any] = {
            "top": 1,
            "a": {"b": True, "c": [1, 2.5, "x"], "d e": {"f": {"g": 'quoted "\\ \x7f\n'}}, "h": []},
            "job": [{"x": 1e300}, {"y": -3}],
            "file": {"path": Path("a/b")},
            "empty": {},
        }
        expected = {**values, "file": {"path": "a/b"}}
        # As texts: True equals 1.
        self.assertEqual(repr(tomllib.loads(text_of(values))), repr(expected))
        self.assertEqual(overrides({"a.b": 1, "c": None, "d": "x", "e": [1]}), ["a.b=1", "c=", 'd="x"', "e=[1]"])

    def test_numbers_of_numpy(self) -> None:
        import numpy

        self.assertEqual(overrides({"a": numpy.float64(0.5), "b": numpy.int32(3)}), ["a=0.5", "b=3"])
        self.assertEqual(overrides({"a": numpy.array([1, 2])}), ["a=[1, 2]"])

    def test_what_toml_has_not_is_refused_by_name(self) -> None:
        wrong: list[tuple[dict[Any, Any], str]] = [
            ({"a": {"b": None}}, "`a.b` is None"),
            ({"a": {"b": [Fraction(1, 2)]}}, "`a.b.0` is a Fraction"),
            ({"a": {3: 4}}, "in `a` 3 is one"),
        ]
        for experiment, said in wrong:
            self.assertRaisesRegex(netloom.UsageError, said, netloom.run, experiment)


if __name__ == "__main__":
    unittest.main()
