"""Progress, other threads, and interruptions."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path

import netloom
from netloom.progress import Line
from setting import DRAGONFLY, PROGRAM, program, without_performance

LONG = {"experiment.duration": "1 s"}
PATIENCE = 2.0

# Runs of the first can be saved, those of the other cannot. Keys that it has not are taken out.
MODELS: dict[str, dict[str, object]] = {
    "packet": {},
    "flow": {
        "model.kind": "flow",
        "job.0.load": 0.3,
        **{f"model.{key}": None for key in ("router", "packet", "chunk", "vcs", "router_delay", "route_per")},
    },
}


def interrupted(code: str, *signals: signal.Signals) -> tuple[str, float]:
    """Runs a program that prints a line when it may be interrupted; gives the rest of what it prints, and seconds to its end."""
    words = [sys.executable, "-c", textwrap.dedent(code)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            begun = time.monotonic()
            for number in signals:
                child.send_signal(number)
            rest, _ = child.communicate(timeout=60)
        finally:
            child.kill()
    return rest, time.monotonic() - begun


class Attention(unittest.TestCase):
    def test_progress_is_heard_in_the_calling_thread(self) -> None:
        heard: list[netloom.Progress] = []
        threads: list[int] = []

        def listen(at: netloom.Progress) -> None:
            heard.append(at)
            threads.append(threading.get_ident())

        netloom.run(DRAGONFLY, set={"experiment.duration": "2 ms"}, progress=listen)
        self.assertEqual(set(threads), {threading.get_ident()})
        # One that comes before the first event knows no end yet.
        simulated = [at for at in heard if at.phase == "simulating" and at.end_ps]
        self.assertGreater(len(simulated), 2)
        self.assertEqual([at.now_ps for at in simulated], sorted(at.now_ps for at in simulated))
        self.assertTrue(all(at.end_ps == 2_000_000_000 and 0 < at.fraction <= 1 for at in simulated))

    def test_other_threads_go_on(self) -> None:
        ended = threading.Event()
        ticks: list[float] = []

        def tick() -> None:
            while not ended.wait(0.005):
                ticks.append(time.monotonic())

        thread = threading.Thread(target=tick)
        thread.start()
        begun = time.monotonic()
        netloom.run(DRAGONFLY, set={"experiment.duration": "500 us"})
        seconds = time.monotonic() - begun
        ended.set()
        thread.join()
        # A run that held the interpreter would leave a gap as long as itself.
        gaps = [b - a for a, b in zip([begun, *ticks], [*ticks, begun + seconds], strict=True)]
        self.assertLess(max(gaps), max(seconds / 2, 0.1))

    def test_two_runs_at_a_time(self) -> None:
        runs: list[netloom.Results] = []

        def one() -> None:
            runs.append(netloom.run(DRAGONFLY, set={"experiment.duration": "20 us"}))

        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({run.fingerprint for run in runs}), 1)
        self.assertEqual(len(runs), 2)

    def test_what_a_listener_raises_ends_the_run(self) -> None:
        def listen(at: netloom.Progress) -> None:
            if at.phase == "simulating":
                raise ArithmeticError("enough")

        begun = time.monotonic()
        self.assertRaisesRegex(ArithmeticError, "enough", netloom.run, DRAGONFLY, set=LONG, progress=listen)
        self.assertLess(time.monotonic() - begun, 30)

    def test_a_line_is_written_over_and_removed(self) -> None:
        stream = io.StringIO()
        line = Line(stream)
        line(netloom.Progress("building the network", 0, 0, 0, 0, 0))
        line(netloom.Progress("simulating", 250_000, 1_000_000, 10, 0, 0))
        line(netloom.Progress("sweeping", 0, 0, 0, 1, 4))
        line.end()
        shown = stream.getvalue().split("\r")
        self.assertEqual(shown[1], "building the network")
        self.assertTrue(shown[2].startswith(" 25%  0.250 of 1.000 us"), shown)
        self.assertTrue(shown[3].startswith(" 25%  1 of 4 points"), shown)
        self.assertEqual((shown[4].strip(), shown[5]), ("", ""))
        self.assertNotIn("\n", stream.getvalue())


class Interruptions(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ended(self, call: str, phase: str = "simulating") -> str:
        """Interrupts a call once it is in a phase; gives the note of the exception."""
        # A shell's job in the background hands on that SIGINT is ignored; what Python does with it is tested, not how it was started.
        code = f"""
            import signal
            import netloom

            signal.signal(signal.SIGINT, signal.default_int_handler)

            def listen(at):
                if "{phase}" in at.phase:
                    print("now")

            try:
                {call}
            except KeyboardInterrupt as exception:
                print("interrupted", getattr(exception, "__notes__", []))
            """
        rest, seconds = interrupted(code, signal.SIGINT)
        self.assertIn("interrupted", rest)
        self.assertLess(seconds, PATIENCE)
        return rest

    def test_a_run_ends_within_two_seconds(self) -> None:
        for model, settings in MODELS.items():
            with self.subTest(model):
                rest = self.ended(f"netloom.run({str(DRAGONFLY)!r}, set={({**LONG, **settings})!r}, progress=listen)")
                self.assertIn("interrupted at", rest)

    def test_so_does_one_that_is_being_assembled(self) -> None:
        large = {"fabric.groups": 129, "fabric.routers_per_group": 16, "fabric.terminals_per_router": 8,
                 "fabric.global_ports_per_router": 8}  # fmt: skip
        self.ended(f"netloom.run({str(DRAGONFLY)!r}, set={large!r}, progress=listen)", phase="")

    def test_a_run_with_a_directory_leaves_its_checkpoint(self) -> None:
        out = self.folder / "out"
        rest = self.ended(f"netloom.run({str(DRAGONFLY)!r}, {str(out)!r}, set={LONG!r}, progress=listen)")
        self.assertIn(f"saved to `{out}.checkpoint`", rest)
        self.assertFalse(out.exists())
        with self.assertRaisesRegex(netloom.OutputError, "unfinished run"):
            netloom.run(DRAGONFLY, out, set=LONG)

    def test_results_that_are_being_written_are_kept(self) -> None:
        out = self.folder / "out"
        setting = {"experiment.duration": "2 ms", "output.messages": True, "output.csv": True}
        call = f"netloom.run({str(DRAGONFLY)!r}, {str(out)!r}, set={setting!r}, progress=listen)"
        rest = self.ended(call, phase="writing")
        self.assertIn(f"interrupted while results were written; they are kept in `{out}.checkpoint`", rest)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["out.checkpoint"])
        # It is not simulated again.
        rest = self.ended(f"netloom.resume({str(out)!r}, progress=listen)", phase="writing")
        self.assertIn("interrupted while results were written", rest)
        resumed = netloom.resume(out)
        self.assertEqual(resumed.summary["simulated_ps"], 2_000_000_000)
        self.assertFalse(out.with_name("out.checkpoint").exists())

    def test_a_sweep_keeps_what_has_ended(self) -> None:
        sweep = self.folder / "sweep.toml"
        axis = '[[sweep.axis]]\npath = "experiment.duration"\nvalues = ["1 us", "1 s"]\n'
        sweep.write_text(f"{DRAGONFLY.read_text()}\n{axis}")
        for model, settings in MODELS.items():
            out = self.folder / model
            call = f"netloom.sweep({str(sweep)!r}, {str(out)!r}, threads=1, set={settings!r}, progress=listen)"
            with self.subTest(model):
                rest = self.ended(call, phase="sweeping")
                self.assertIn("points that ended are kept", rest)
                self.assertEqual(len(list((out / "points").glob("*.json"))), 1)

    def test_an_interrupted_run_goes_on_here_and_in_the_program(self) -> None:
        setting = {"experiment.duration": "1 ms", "job.0.load": 0.3}
        whole = netloom.run(DRAGONFLY, self.folder / "whole", set=setting)
        # As a text: its file is needed no more.
        text = DRAGONFLY.read_text()
        for name in ("here", "program") if PROGRAM else ("here",):
            out = self.folder / name
            self.ended(f"netloom.run({text!r}, {str(out)!r}, set={setting!r}, progress=listen)")
            if name == "here":
                resumed = netloom.resume(out)
            else:
                done = program("resume", out)
                self.assertEqual(done.returncode, 0, done.stderr)
                read = netloom.read(out)
                assert isinstance(read, netloom.Results)
                resumed = read
            self.assertEqual(without_performance(resumed.summary), without_performance(whole.summary))
            self.assertTrue(resumed.tables["links"].equals(whole.tables["links"]))
            self.assertNotIn("command", resumed.manifest or {})
            self.assertFalse(out.with_name(f"{name}.checkpoint").exists())
        self.assertRaisesRegex(netloom.InputError, "no checkpoint", netloom.resume, self.folder / "nothing")


if __name__ == "__main__":
    unittest.main()
