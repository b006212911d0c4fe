"""Kinds of frames, and what is said where their libraries are missing."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from importlib.util import find_spec
from unittest.mock import patch

import netloom
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


if __name__ == "__main__":
    unittest.main()
