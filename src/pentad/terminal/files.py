"""Reads and writes files named on the command line; `-` is stdin or stdout."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import click

from pentad.kernel.errors import InvalidInput
from pentad.terminal.output import print_text

LARGEST_FILE: Final = 16 * 1024 * 1024
out_option: Final = click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.  [default: stdout]"
)


def read(source: str) -> bytes:
    """The content of a file, or of stdin for `-`."""
    try:
        if source == "-":
            content = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            with Path(source).open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise click.UsageError(f"{source} cannot be read: {error.strerror}.") from None
    if len(content) > LARGEST_FILE:
        raise InvalidInput(f"{source} has more than {LARGEST_FILE} bytes.", hint="No record is that large.")
    return content


def is_file(given: str) -> bool:
    """Whether an argument names a file, or stdin."""
    try:
        return given == "-" or Path(given).is_file()
    except (OSError, ValueError):  # too long for a path, or not one
        return False


def write(text: str, out: Path | None) -> None:
    """Write text to stdout, or to a file that appears only once it is complete."""
    if out is None:
        print_text(text.removesuffix("\n"))
        return
    unfinished = out.with_name(f".{out.name}.part")
    try:
        unfinished.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        unfinished.replace(out)
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def indented(value: Any) -> str:
    """A value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2)
