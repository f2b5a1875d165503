"""Agents and tasks as lines and rows for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def agent_rows(agents: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            one["id"],
            one["name"],
            ", ".join(one["dialects"]),
            "here" if one["hosted_here"] else one["url"],
            _short(one["description"]),
        )
        for one in agents
    ]


def task_rows(tasks: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (one["task_id"], one["agent"], one["state"], one.get("updated_at", ""), _short(one["text"])) for one in tasks
    ]


def task_lines(task: Mapping[str, Any]) -> Iterator[str]:
    """What the agent said, its artifacts, and where to read what was cut."""
    yield from _held(task)
    for one in task.get("artifacts", ()):
        yield f"--- {one.get('name') or one['id']}"
        yield from _held(one)
    if task.get("cut"):
        yield f"[{task['cut']}]"


def _held(shown: Mapping[str, Any]) -> Iterator[str]:
    """Texts, values and files: of an artifact, or of what the agent said."""
    if shown.get("text"):
        yield shown["text"]
    for value in shown.get("data") or ():
        yield _json(value)
    for file in shown.get("files") or ():
        named = file.get("filename") or file.get("media_type") or "file"
        yield f"[{named} {file.get('url') or str(file.get('bytes', 0)) + ' bytes'}]"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=2)
