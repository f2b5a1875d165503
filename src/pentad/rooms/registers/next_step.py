"""What a caller can do next, as data: an operation and its arguments. Each interface says it in its own words, because
the call of a tool does not help in a browser or a shell.

Services word it for callers of the tools, where most hints are read; REST and the command line word it from the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["registers", "schemas", "objects"]


@dataclass(frozen=True, slots=True)
class NextStep:
    """An operation such as `schemas.patch`. If it repeats what was asked for, `arguments` has only what is new."""

    kind: Kind
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def as_json(self) -> dict[str, Any]:
        return {"operation": f"{self.kind}.{self.action}", "arguments": dict(self.arguments)}

    def same_tool_call(self) -> str:
        """The call of the tool that does it, for a caller who has the other arguments."""
        return f"{self.kind} action={self.action} id={self.arguments['id']} with the same arguments"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a planned change would do if it were made now. The sentence is `before`, the words for the step, `after`."""

    step: NextStep | None = None
    """The operation that makes the change; None if it would be refused and nothing is known to help."""
    before: str = ""
    after: str = ""

    def sentence(self, call: str) -> str:
        """The whole sentence, with the words of an interface for the step."""
        return self.before if self.step is None else f"{self.before}{call}{self.after}"
