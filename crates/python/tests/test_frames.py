"""Kinds of frames, and what is said where their libraries are missing."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import netloom
from netloom.frames import Frames, frame, in_directory
from setting import SWITCH, swept


def lacking(*names: str) -> Callable[[str], object]:
    """A search for modules that finds some of them missing."""
    return lambda name: None if name in names else find_spec(name)


class Kinds(unittest.TestCase):
    def test_what_is_installed_is_taken(self) -> None:
        for missing, module in [((), "polars"), (("polars",), "pandas"), (("polars", "pandas"), "pyarrow")]:
            with patch("netloom.frames.find_spec", lacking(*missing)):
                links = netloom.run(SWITCH).tables["links"]
            self.assertEqual(type(links).__module__.split(".")[0], module)

    def test_without_any_the_summary_is_there_and_tables_say_what_to_do(self) -> None:
        with patch("netloom.frames.find_spec", lacking("polars", "pyarrow")):
            run = netloom.run(SWITCH)
            self.assertEqual(run.verdict, "ok")
            self.assertRaisesRegex(netloom.FramesError, "pip install polars", lambda: run.tables["links"])
            self.assertRaisesRegex(netloom.FramesError, "none of them", netloom.sweep, swept())

    def test_a_kind_that_is_missing_is_refused_before_the_run(self) -> None:
        with patch("netloom.frames.find_spec", lacking("pyarrow")), self.assertRaises(ImportError) as refused:
            netloom.run("nowhere.toml", frames="pandas")
        self.assertIn("missing: pyarrow", str(refused.exception))

    def test_an_unknown_kind_is_refused(self) -> None:
        kind: object = "tables"
        self.assertRaisesRegex(netloom.UsageError, "'tables'", netloom.run, SWITCH, frames=kind)

    def test_columns_of_csv_files_are_typed_by_all_rows(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "series.csv"
            rows = [f"{n},{'' if n < 300 else 7},{n if n < 300 else n + 0.5}" for n in range(400)]
            file.write_text("\n".join(["time_ps,link,value", *rows]) + "\n")
            for kind in get_args(Frames):
                table = frame(file, kind)
                column = table["value"].to_pylist() if kind == "arrow" else list(table["value"])
                self.assertEqual(column[-1], 399.5, kind)

    def test_names_that_spreadsheets_take_for_formulas_come_back(self) -> None:
        names = ["=1+1", "+a", "-a,b", "@sum", "'a", "'=\"1\"", "\uff1d1", "a"]
        job = {"workload": "ring", "ranks": 2}
        fabric = {**SWITCH["fabric"], "terminals": 16}
        jobs = [{**job, "name": name} for name in names]
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            output = {"window": "1 us", "csv": True}
            netloom.run({**SWITCH, "fabric": fabric, "job": jobs, "output": output}, out)
            text = (out / "message_windows.csv").read_text(encoding="utf-8")
            self.assertTrue("'=1+1" in text and "=1+1" not in text.replace("'=1+1", ""))
            for kind in get_args(Frames):
                read = [frame(out / f"message_windows.{ending}", kind)["job"] for ending in ("csv", "parquet")]
                plain, packed = (each.to_pylist() if kind == "arrow" else list(each) for each in read)
                self.assertEqual(plain, packed, kind)
                self.assertEqual(set(plain), set(names), kind)

    def test_columns_are_bare_of_guards_too(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "points.csv"
            file.write_text("'=a,'b,n\n'-x,'y,-1\n,,\n")
            for kind in get_args(Frames):
                table = frame(file, kind)
                columns = table.column_names if kind == "arrow" else list(table.columns)
                self.assertEqual(columns, ["=a", "'b", "n"], kind)
                column = table["=a"].to_pylist() if kind == "arrow" else list(table["=a"])
                self.assertEqual(column[0], "-x", kind)

    def test_a_damaged_table_is_an_input_error(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "links.parquet"
            file.write_bytes(b"no table")
            tables = in_directory(Path(folder), None)
            self.assertRaisesRegex(netloom.InputError, "the table links .* cannot be read", lambda: tables["links"])


if __name__ == "__main__":
    unittest.main()
