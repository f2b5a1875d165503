"""The two examples of the AgentVault profile's document, with nothing changed but where names are imported from.

What an example leaves to its reader (`Optional`, `uuid`; a card and keys for the client) is given to it by name.
"""

import ast
import re
import uuid
from pathlib import Path
from types import CodeType
from typing import Any, Optional

_IMPORT = re.compile(r"^from agentvault(?:_server_sdk)?\b", re.MULTILINE)


def example(name: str) -> CodeType:
    """An example as code; it may await."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    ours = _IMPORT.sub("from pentad.agentvault", text)
    assert [line for line in ours.splitlines() if line not in text.splitlines()] == [
        line for line in ours.splitlines() if "pentad.agentvault" in line
    ]
    return compile(ours, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _my_agent() -> Any:
    names: dict[str, Any] = {"Optional": Optional, "uuid": uuid, "__name__": __name__}
    exec(example("example_agent.txt"), names)
    return names["MyAgent"]


MyAgent = _my_agent()
