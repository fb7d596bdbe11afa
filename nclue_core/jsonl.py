"""JSON Lines: read with file and line in every error, write reproducibly."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nclue_core.errors import InputError
from nclue_core.files import atomic_write, open_maybe_gzip

BOM = b"\xef\xbb\xbf"
MAX_LINE_BYTES = 64 * 2**20


class Row(NamedTuple):
    """One row of a file and where it stands."""

    line: int  # 1-based
    value: dict[str, Any]


def read_jsonl(path: Path) -> Iterator[Row]:
    """Yield the objects of a JSON Lines file (gzip by content; BOM, CRLF, blank lines are fine).

    Raises:
        InputError: A line is not UTF-8, not JSON, not an object, repeats a key, or holds NaN or
            an infinity; names file and line. A missing file is an InputError too.
    """
    for line, raw in numbered_lines(path):
        yield Row(line, parse_object(raw, path, line))


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (1-based line number, stripped bytes) of each line that is not blank."""
    try:
        with open_maybe_gzip(path) as stream:
            line = 0
            while raw := stream.readline(MAX_LINE_BYTES + 1):
                line += 1
                if len(raw) > MAX_LINE_BYTES:
                    raise InputError(
                        f"a line is longer than {MAX_LINE_BYTES:,} bytes", path=path, line=line
                    )
                text = (raw.removeprefix(BOM) if line == 1 else raw).strip()
                if text:
                    yield line, text
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except (
        OSError,
        EOFError,
        zlib.error,
        ValueError,
    ) as err:  # unreadable, a directory, or damaged gzip
        raise InputError(f"cannot be read: {err}", path=path) from err


def parse_object(raw: bytes, path: Path, line: int) -> dict[str, Any]:
    """The JSON object of one line, as `read_jsonl` reads it (and with the same errors)."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as err:
        hint = " (UTF-16?)" if b"\x00" in raw else ""
        raise InputError(
            f"not UTF-8{hint}: byte {err.start + 1} of the line is 0x{raw[err.start]:02x}; "
            "save the file as UTF-8",
            path=path,
            line=line,
        ) from None
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise InputError("JSON nested too deeply", path=path, line=line) from None
    except ValueError as err:
        raise InputError(f"not a JSON value: {err}", path=path, line=line) from None
    if not isinstance(value, dict):
        raise InputError(
            f"expected a JSON object, found {type(value).__name__} {shorten(text)}",
            path=path,
            line=line,
        )
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated!r} stands twice in one object")
    return value


# One decoder for all lines: json.loads with hooks would build a new one for each.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)


def shorten(value: object, width: int = 60) -> str:
    """A value as it is shown in messages: its repr, at most ``width`` characters."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def dump_line(value: Mapping[str, Any]) -> str:
    """One object as one line of JSON: keys in the given order, no blanks, UTF-8 kept as it is.

    Raises:
        ValueError: A number is NaN or infinite (JSON has none).
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows atomically, one object a line; returns their number."""
    count = 0
    with atomic_write(path) as stream:
        for row in rows:
            stream.write(dump_line(row).encode("utf-8") + b"\n")
            count += 1
    return count


def json_ready(value: Any) -> Any:
    """The value with NaN and infinities as null, -0.0 as 0.0, and numpy's values as plain ones."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None
    return value


def dump_json(value: Any, *, ascii_only: bool = False) -> str:
    """A result as indented JSON; what is undefined (NaN) becomes null.

    With ``ascii_only`` all other characters are escaped.
    """
    return json.dumps(json_ready(value), ensure_ascii=ascii_only, indent=2, allow_nan=False)
