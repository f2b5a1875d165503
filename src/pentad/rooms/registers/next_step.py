"""What a caller can do next, as data: an operation and its arguments. Each interface words it differently, because a
tool call does not help in a browser or a shell.

Services word it for tool callers, who read most hints; REST and the command line build their own text from the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["registers", "schemas", "objects"]


@dataclass(frozen=True, slots=True)
class NextStep:
    """An operation such as `schemas.patch`. If it repeats the request, `arguments` has only what is new."""

    kind: Kind
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def as_json(self) -> dict[str, Any]:
        return {"operation": f"{self.kind}.{self.action}", "arguments": dict(self.arguments)}

    def same_tool_call(self) -> str:
        """The tool call that does it, for a caller who has the other arguments."""
        return f"{self.kind} action={self.action} id={self.arguments['id']} with the same arguments"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a planned change would do now. The sentence consists of `before`, the words for the step, and `after`."""

    step: NextStep | None = None
    """The operation that makes the change; None if it would be refused and nothing is known to help."""
    before: str = ""
    after: str = ""

    def sentence(self, call: str) -> str:
        """The whole sentence, with the step in the words of an interface."""
        return self.before if self.step is None else f"{self.before}{call}{self.after}"
