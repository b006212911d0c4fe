"""Experiments that are dicts, and values of `set`, as TOML."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from netloom.errors import UsageError


def text_of(experiment: Mapping[str, Any]) -> str:
    """An experiment as the text of its file: a section or a key per entry, in order, each key of a section on a line of its own."""
    plain, sections = [], []
    for name, value in experiment.items():
        if isinstance(value, Mapping):
            sections.append(_section(f"[{_key(name, '')}]", value, name))
        elif _is_list(value) and len(value) > 0 and all(isinstance(item, Mapping) for item in value):
            title = f"[[{_key(name, '')}]]"
            sections.extend(_section(title, item, f"{name}.{n}") for n, item in enumerate(value))
        else:
            plain.append(f"{_key(name, '')} = {value_of(value, name)}\n")
    return "\n".join(["".join(plain), *sections]).lstrip("\n")


def overrides(values: Mapping[str, Any]) -> list[str]:
    """Values that override those of an experiment, each as `job.0.load=0.5`; None takes a key out."""
    return [f"{path}={'' if value is None else value_of(value, path)}" for path, value in values.items()]


def value_of(value: Any, where: str) -> str:
    """A value as TOML, on one line."""
    # Numbers of numpy and its like know the number of Python that they are.
    if hasattr(value, "item") and not isinstance(value, (str, bytes, Mapping)) and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else str(float(value))
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        # A string of JSON is one of TOML, but for the character 127.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inside = (f"{_key(key, where)} = {value_of(item, f'{where}.{key}')}" for key, item in value.items())
        return "{ " + ", ".join(inside) + " }"
    if _is_list(value) or getattr(value, "ndim", 0) == 1:
        return "[" + ", ".join(value_of(item, f"{where}.{n}") for n, item in enumerate(value)) + "]"
    if value is None:
        raise UsageError(f"error: `{where}` is None, which no experiment has\n  help: leave the key out")
    kinds = "texts, numbers, truth values, lists and dicts are possible"
    raise UsageError(f"error: `{where}` is a {type(value).__name__}, but {kinds}")


def _section(title: str, values: Mapping[str, Any], where: str) -> str:
    lines = (f"{_key(key, where)} = {value_of(value, f'{where}.{key}')}\n" for key, value in values.items())
    return f"{title}\n{''.join(lines)}"


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        place = f" in `{where}`" if where else ""
        raise UsageError(f"error: keys of an experiment are texts, but{place} {key!r} is one")
    bare = key.isascii() and key.replace("-", "_").isidentifier()
    return key if bare else value_of(key, where)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
