"""One object that AgentVault and A2A 0.3 both read: for methods they share, where nothing tells which one is asking."""

from pentad.rooms.agents.dialects import v03
from pentad.rooms.agents.dialects.agentvault import Writer
from pentad.rooms.agents.tasks.model import Json, Task


def task(value: Task, writer: Writer, history_length: int | None = None) -> Json:
    """Every member either of them requires; where both have one of a name, its value suits both."""
    theirs, ours = writer.task(value), v03.task(value, history_length)
    shown = zip(theirs["artifacts"], ours.get("artifacts", []), strict=True)
    return {**theirs, **ours, "artifacts": [{**one, **other} for one, other in shown], "metadata": value.metadata}


def canceled(value: Task, writer: Writer) -> Json:
    """The answer to a cancel, for both."""
    return {**task(value, writer), "success": value.state == "canceled", "message": None}
