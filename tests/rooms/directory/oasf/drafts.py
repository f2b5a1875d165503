"""Records as language models write them: what they mean is plain, and none of them is valid."""

import json
from typing import Any, Final

_PLAIN: Final[dict[str, Any]] = {
    "name": "example.org/invoice-helper",
    "version": "v1.2.0",
    "schema_version": "1.0.0",
    "description": "Reads invoices and summarizes them.",
    "authors": ["Ada Park <ada@example.org>"],
    "created_at": "2026-03-02T09:30:00Z",
    "skills": [{"name": "natural_language_processing/natural_language_generation/summarization", "id": 10202}],
    "domains": [{"name": "finance_and_business/finance", "id": 202}],
    "locators": [{"type": "source_code", "urls": ["https://github.com/example/invoice-helper"]}],
    "modules": [],
}
_MCP: Final = {"name": "invoices", "connections": [{"type": "streamable-http", "url": "https://example.org/mcp"}]}


def draft(**changes: Any) -> dict[str, Any]:
    """The plain record with changes; None removes an attribute."""
    return {key: value for key, value in {**_PLAIN, **changes}.items() if value is not None}


def text(**changes: Any) -> str:
    return json.dumps(draft(**changes), indent=2)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


DRAFTS: Final[dict[str, str]] = {
    "skills as texts": text(skills=["summarization"]),
    "skills in free words": text(skills=["Summarize documents", "Text Summarization"]),
    "skills in one text": text(skills="summarization, sentiment_analysis"),
    "skills with other keys": text(skills=[{"skill": "summarization", "description": "Shortens invoices."}]),
    "skills as a map": text(skills={"summarization": {"level": "expert"}}),
    "skills by number": text(skills=[10202]),
    "authors in one text": text(authors="Ada Park, Bob Stone"),
    "authors as objects": text(authors=[{"name": "Ada Park", "email": "ada@example.org"}]),
    "one author": text(authors=None, author={"name": "Ada Park"}),
    "a locator on GitHub": text(locators=[{"type": "github", "url": "https://github.com/example/invoice-helper"}]),
    "locators as addresses": text(locators=["https://github.com/example/invoice-helper"]),
    "locators as a map": text(locators={"docker": "ghcr.io/example/invoice-helper:1.2.0"}),
    "a repository instead of locators": text(locators=None, repository="https://github.com/example/invoice-helper"),
    "a version with a v": text(schema_version="v1.0.0"),
    "a short version": text(schema_version="1.0"),
    "a version as a number": text(schema_version=1.0, version=1.2),
    "no OASF version": text(schema_version=None),
    "camel case": json.dumps({_camel(key): value for key, value in _PLAIN.items()}),
    "a fence": f"Here is your record:\n\n```json\n{text()[:-2]},\n}}\n```\n\nTell me if you want changes!",
    "trailing commas": text().replace("\n  ],", ",\n  ],").replace('"modules": []', '"modules": [],'),
    "comments": text().replace('"name": "example', '// who it is\n  "name": "example'),
    "Python": repr(_PLAIN),
    "nested": json.dumps({"agent": draft()}),
    "nested in a list": json.dumps([draft()]),
    "a day instead of a time": text(created_at="2026-03-02"),
    "seconds instead of a time": text(created_at=1772443800),
    "nested twice": json.dumps({"status": "success", "data": {"records": [draft()]}}),
    "a call of the tool": json.dumps({"name": "agntcy_dir_push_record", "arguments": {"record_json": text()}}),
    "some of it in metadata": json.dumps(
        {
            "metadata": {"name": _PLAIN["name"], "author": "Ada", "created": _PLAIN["created_at"]},
            **draft(name=None, authors=None, created_at=None),
        }
    ),
    "a fence of something else first": f"Run:\n```bash\npentad directory push it.json\n```\n```json\n{text()}\n```",
    "missing commas": text().replace('",\n  "', '"\n  "').replace("],\n", "]\n"),
    "undefined": text()[:-2] + ',\n  "annotations": undefined\n}',
    "nulls": json.dumps({**draft(), "previous_record_cid": None, "signature": None, "modules": None}),
    "a description in parts": text(description=["Reads invoices.", "Summarizes them."]),
    "annotations of all kinds": text(annotations={"beta": True, "stars": 5, "team": {"name": "core"}, "tags": ["a"]}),
    "skills below their category": text(skills={"natural_language_processing": ["summarization"]}),
    "no author among authors": text(authors=["Ada Park", None, ""]),
    "modules as a map": text(modules={"integration/mcp": _MCP}),
    "a locator with a kind": text(locators=[{"kind": "git", "uri": "https://github.com/example/invoice-helper"}]),
    "a locator with an image": text(locators=[{"type": "docker", "image": "ghcr.io/example/invoice-helper:1.2.0"}]),
    "a day with an ordinal": text(created_at="March 2nd, 2026"),
    "all at once": "```json\n"
    + json.dumps(
        {
            "agent": {
                "agentName": "example.org/invoice-helper",
                "version": "1.2.0",
                "schemaVersion": "v1.0",
                "description": "Reads invoices and summarizes them.",
                "author": "Ada Park",
                "createdAt": "2026-03-02",
                "skills": ["summarization"],
                "domains": "finance",
                "repository": "https://github.com/example/invoice-helper",
            }
        }
    )[:-1]
    + ",}\n```",
}
