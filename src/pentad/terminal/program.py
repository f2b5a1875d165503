"""The command that starts this program.

Messages name commands as `pentad ...`, which may not be on the PATH, for example in a clone. Where a message is printed
or put on a page, the name is replaced with the command that started this process: `./pentad`, `.venv/bin/pentad`, `uvx
--from DIR pentad`.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

NAME: Final = "pentad"
PROGRAM: Final = "PENTAD_PROGRAM"
"""The environment variable with the command to print. Container images set it, and worker processes inherit it."""
LAUNCHER: Final = "PENTAD_LAUNCHER"
"""The environment variable in which the script `./pentad` passes on how it was called."""
_COMMAND: Final = re.compile(r"`pentad(?= )")


def program() -> str:
    """What to type instead of `pentad`."""
    return os.environ.get(PROGRAM) or NAME


def as_typed(command: str) -> str:
    """A command that begins with `pentad`, as the user has to type it."""
    return program() + command.removeprefix(NAME)


def with_program(text: str, name: str | None = None) -> str:
    """The text, with every command in backticks as the user has to type it."""
    return _COMMAND.sub(lambda _: f"`{program() if name is None else name}", text)


def remember_program(argv0: str, environ: MutableMapping[str, str] = os.environ) -> None:
    """Record how this process was called, for itself and for the processes it starts."""
    called = environ.pop(LAUNCHER, None) or argv0
    if not environ.get(PROGRAM):
        environ[PROGRAM] = _program(called, environ)


def uvx_command() -> list[str] | None:
    """The uvx command that started this program, if any. uvx environments are caches that may be deleted."""
    if "archive-v0" not in Path(sys.prefix).parts:
        return None
    source = _installed_from()
    return [shutil.which("uvx") or "uvx", *(["--from", source] if source else []), NAME]


def _program(called: str, environ: Mapping[str, str]) -> str:
    import shlex  # rarely needed

    if (uvx := uvx_command()) is not None:
        return shlex.join(["uvx", *uvx[1:]])
    path = Path(called)
    if path.suffix == ".py":  # python -m pentad.cli.main
        return shlex.join([sys.executable, "-m", "pentad.cli.main"])
    on_path = shutil.which(NAME, path=environ.get("PATH"))
    if on_path is not None and path.is_absolute() and Path(on_path) == path:
        return NAME
    # A script passed to a shell by its bare name: `sh pentad`.
    return shlex.quote(called if path.is_absolute() or "/" in called or os.sep in called else f"./{called}")


def _installed_from() -> str | None:
    """The folder or URL Pentad was installed from (PEP 610); None if it came from an index."""
    import json
    from importlib import metadata

    text = metadata.distribution(NAME).read_text("direct_url.json")
    if text is None:
        return None
    url: str = json.loads(text)["url"]
    return unquote(urlsplit(url).path) if url.startswith("file://") else url
