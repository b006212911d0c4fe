"""Tables as frames of polars, pandas or Arrow, whichever is wanted or installed."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from netloom.errors import FramesError, InputError, UsageError

Frames = Literal["polars", "pandas", "arrow"]
"""Kind of frames."""

Frame: TypeAlias = Any
"""A `polars.DataFrame`, a `pandas.DataFrame` or a `pyarrow.Table`."""

NEEDS: dict[str, tuple[str, ...]] = {
    "polars": ("polars",),
    # pandas itself reads no Parquet.
    "pandas": ("pandas", "pyarrow"),
    "arrow": ("pyarrow",),
}
"""Modules of each kind, in the order in which kinds are preferred."""


def chosen(frames: Frames | None) -> Frames:
    """The kind that is asked for, or else the first that is installed: polars, pandas, Arrow."""
    kinds: tuple[Frames, ...] = get_args(Frames)
    if frames is None:
        for kind in kinds:
            if not _missing(kind):
                return kind
        raise FramesError(
            "error: tables need polars, pandas with pyarrow, or pyarrow, and none of them is installed\n"
            "  help: pip install polars"
        )
    if frames not in kinds:
        raise UsageError(f'error: `frames` is {frames!r}, but "polars", "pandas" and "arrow" are possible')
    if missing := _missing(frames):
        raise FramesError(
            f'error: frames="{frames}" needs {" and ".join(NEEDS[frames])}; missing: {", ".join(missing)}\n'
            f"  help: pip install {' '.join(missing)}"
        )
    return frames


def checked(frames: Frames | None) -> None:
    """Refuses early a kind that is asked for and cannot be had. Without a kind nothing is refused before a table is wanted."""
    if frames is not None:
        chosen(frames)


def _missing(kind: Frames) -> list[str]:
    return [module for module in NEEDS[kind] if find_spec(module) is None]


GUARD = "^'([-=+@'\uff1d\uff0b\uff0d\uff20])"
"""The quote before a text in a CSV file that spreadsheets would take for a formula, and how that text begins."""


def frame(source: Path | bytes, frames: Frames) -> Frame:
    """A table that is a Parquet file, its bytes, or a CSV file."""
    if isinstance(source, Path) and source.suffix == ".csv":
        return _plain(source, frames)
    file: Any = io.BytesIO(source) if isinstance(source, bytes) else source
    if frames == "polars":
        return import_module("polars").read_parquet(file)
    if frames == "pandas":
        return import_module("pandas").read_parquet(file, engine="pyarrow")
    arrow: Any = import_module("pyarrow.parquet")
    # As a file: a path with `=` in it would be taken for a column.
    return arrow.ParquetFile(file).read()


def _plain(file: Path, frames: Frames) -> Frame:
    """A table that is a CSV file. Texts that are guarded against spreadsheets become what they were."""
    if frames == "polars":
        polars: Any = import_module("polars")
        # Of all rows: the first hundred may be whole numbers, or empty.
        table = polars.read_csv(file, infer_schema_length=None)
        return table.rename(_bare).with_columns(polars.col(polars.String).str.replace(GUARD, "${1}"))
    if frames == "pandas":
        table = import_module("pandas").read_csv(file).rename(columns=_bare)
        for name in table.select_dtypes(exclude="number").columns:
            table[name] = table[name].map(_bare, na_action="ignore")
        return table
    arrow: Any = import_module("pyarrow")
    compute: Any = import_module("pyarrow.compute")
    table = import_module("pyarrow.csv").read_csv(file)
    for at, field in enumerate(table.schema):
        texts = arrow.types.is_string(field.type)
        column = compute.replace_substring_regex(table[at], GUARD, r"\1") if texts else table[at]
        table = table.set_column(at, _bare(field.name), column)
    return table


def _bare(text: Any) -> Any:
    """What was written, without its guard; anything but a text as it is."""
    return re.sub(GUARD, r"\1", text) if isinstance(text, str) else text


class Tables(Mapping[str, Frame]):
    """The tables of a run or a sweep by name. Each is made when it is first wanted."""

    def __init__(self, sources: Mapping[str, Callable[[], Path | bytes]], frames: Frames | None) -> None:
        self._sources = dict(sources)
        self._frames = frames
        self._made: dict[str, Frame] = {}

    def __getitem__(self, name: str) -> Frame:
        if name not in self._made:
            source = self._sources[name]
            kind, where = chosen(self._frames), source()
            try:
                self._made[name] = frame(where, kind)
            except Exception as error:
                place = f" `{where}`" if isinstance(where, Path) else ""
                raise InputError(f"error: the table {name}{place} cannot be read: {error}") from error
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __repr__(self) -> str:
        return f"<netloom.Tables {', '.join(self)}>"


def in_directory(directory: Path, frames: Frames | None) -> Tables:
    """All tables of a directory; a Parquet file comes before a CSV file of the same name."""
    files = {path.stem: path for kind in ("*.csv", "*.parquet") for path in sorted(directory.glob(kind))}
    return Tables({name: partial(Path, path) for name, path in sorted(files.items())}, frames)
