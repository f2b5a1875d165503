"""The command line on each store: what the tests of a wire call in a terminal."""

import json
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.cli.processes import run


@dataclass(frozen=True)
class Terminal:
    """A folder to work in, and the store that the commands use there."""

    home: Path
    database: str | None

    def run(self, *words: str, stdin: str = "") -> "CompletedProcess[str]":
        environ = {} if self.database is None else {"PENTAD_DATABASE": self.database}
        return run(*words, home=self.home, stdin=stdin, environ=environ)

    def call(self, tool: str, **arguments: Any) -> Any:
        """What `pentad call` answers."""
        done = self.run("call", tool, "--args", "-", stdin=json.dumps(arguments))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refusal(self, tool: str, **arguments: Any) -> str:
        """What `pentad call` says instead of an answer."""
        done = self.run("call", tool, "--args", "-", stdin=json.dumps(arguments))
        assert done.returncode != 0, done.stdout
        return done.stderr

    def define(self, register: str, **schemas: dict[str, Any]) -> None:
        """A register with these schemas."""
        for slug, schema in schemas.items():
            self.call("schemas", action="create", data={"title": slug, "slug": slug, **schema})
        self.call("registers", action="create", data={"title": register, "slug": register, "schemas": list(schemas)})
