"""Catalogues of approved records for programs other than MCP hosts: the AI catalogue, and the index of agent skills.

Each lists the newest approved version of every name outside quarantine. Both are single documents, so their size is
limited, and they say if they are incomplete.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import text_or_none
from pentad.kernel.ports import Database, Row, Rows
from pentad.kernel.sql import marks
from pentad.rooms.directory.records.index_fields import Kind
from pentad.rooms.directory.records.trust_marks import NOT_QUARANTINED
from pentad.rooms.directory.registry.server_files import server_file
from pentad.rooms.directory.store import texts_of
from pentad.rooms.directory.translate import a2a_cards, agent_skills
from pentad.rooms.directory.translate.envelope import find_module
from pentad.rooms.directory.translate.launches import MODULES as MCP_MODULES

MOST_ENTRIES: Final = 1_000
SKILLS_PATH: Final = "/.well-known/agent-skills"
COMPLETE: Final = "urn:pentad:complete"
"""The extension that says whether the catalogue is complete."""

_MOST_READ: Final = 10_000
_SKILLS_SCHEMA: Final = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_CARD_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_CARD_MEMBERS: Final = (
    "name",
    "title",
    "description",
    "version",
    "websiteUrl",
    "repository",
    "icons",
    "remotes",
    "_meta",
)
_LONGEST_SKILL: Final = 64
_LONGEST_DESCRIPTION: Final = 1_024
_NAME_MARKS: Final = "/:@"
"""Marks that stand for themselves in an identifier."""
_UNNAMED: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill of the index, and its SKILL.md."""

    name: str
    description: str
    content: bytes

    def as_json(self) -> dict[str, str]:
        return {
            "name": self.name,
            "type": "skill-md",
            "description": self.description,
            "url": f"{SKILLS_PATH}/{self.name}/{agent_skills.SKILL_FILE}",
            "digest": _digest(self.content),
        }


class Catalogs:
    """The catalogues of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ai_catalog(self, site: str) -> dict[str, Any]:
        """The AI catalogue of this server, whose address is `site`."""
        modules = (*a2a_cards.MODULES, *MCP_MODULES, agent_skills.MODULE)
        records, complete = await self._database.read(lambda rows: _approved(rows, modules))
        skills = {skill.name: skill for skill in _skills(records)}
        return {
            "specVersion": "1.0",
            "host": {"displayName": "Pentad directory", "identifier": site},
            "entries": [one for record in records for one in _entries(record, skills, site)],
            "extensions": {COMPLETE: complete},
        }

    async def skills_index(self) -> dict[str, Any]:
        """The index of agent skills."""
        records, complete = await self._database.read(lambda rows: _approved(rows, (agent_skills.MODULE,)))
        index = {"$schema": _SKILLS_SCHEMA, "skills": [skill.as_json() for skill in _skills(records)]}
        return index if complete else {**index, "complete": False}

    async def skill(self, name: str) -> Skill | None:
        """One skill of the index."""
        records, _ = await self._database.read(lambda rows: _approved(rows, (agent_skills.MODULE,)))
        return next((skill for skill in _skills(records) if skill.name == name), None)


def _approved(rows: Rows, modules: Sequence[str]) -> tuple[list[dict[str, Any]], bool]:
    """The newest approved records with one of these modules, and whether the list is complete."""
    found = rows.all(
        "SELECT DISTINCT r.id, r.cid, r.name, r.version_key FROM directory_terms t"  # noqa: S608  only marks
        " JOIN directory_postings p ON p.term = t.id JOIN directory_records r ON r.id = p.record"
        f" WHERE t.kind = ? AND t.text IN ({marks(len(modules))}) AND r.state = 'approved'"
        f" AND {NOT_QUARANTINED} ORDER BY r.id DESC LIMIT ?",
        int(Kind.MODULE), *modules, _MOST_READ + 1,
    )  # fmt: skip
    newest: dict[str, Row] = {}
    for row in found:
        known = newest.get(row[2].lower())
        if known is None or row[3] > known[3]:
            newest[row[2].lower()] = row
    cids = [row[1] for row in sorted(newest.values(), key=lambda one: one[2])[:MOST_ENTRIES]]
    texts = texts_of(rows, cids)
    complete = len(found) <= _MOST_READ and len(newest) <= MOST_ENTRIES
    return [msgspec.json.decode(texts[cid]) for cid in cids if cid in texts], complete


def _entries(record: dict[str, Any], skills: dict[str, Skill], site: str) -> Iterator[dict[str, Any]]:
    """The catalogue's entries for a record: its agent card, MCP server card and skill."""
    found = dict(_parts(record, skills, site))
    for part, (kind, content) in found.items():
        # identifier and version together must be unique
        yield _entry(record, kind, f"#{part}" if len(found) > 1 else "", content)


def _parts(
    record: dict[str, Any], skills: dict[str, Skill], site: str
) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    if find_module(record, a2a_cards.MODULES) is not None:
        with suppress(InvalidInput):  # the module has no card
            yield "agent", ("application/a2a-agent-card+json", {"data": a2a_cards.from_record(record).result})
    server = server_file(record)
    if server is not None:
        fields: dict[str, Any] = msgspec.json.decode(server.content)
        if fields.get("remotes"):
            card = {"$schema": _CARD_SCHEMA} | {key: fields[key] for key in _CARD_MEMBERS if key in fields}
            yield "server", ("application/mcp-server-card+json", {"data": card})
    if (skill := _skill(record)) is not None and skills.get(skill.name) == skill:
        address = f"{site}{SKILLS_PATH}/{skill.name}/{agent_skills.SKILL_FILE}"
        yield "skill", (agent_skills.MEDIA, {"url": address, "digest": _digest(skill.content)})


def _entry(record: dict[str, Any], kind: str, part: str, content: dict[str, Any]) -> dict[str, Any]:
    fields = {
        "identifier": f"directory://names/{quote(str(record['name']), safe=_NAME_MARKS)}{part}",
        "type": kind,
        "displayName": text_or_none(record.get("name")),
        "description": text_or_none(record.get("description")),
        "version": text_or_none(record.get("version")),
        "updatedAt": text_or_none(record.get("created_at")),
        **content,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _skills(records: Sequence[dict[str, Any]]) -> Iterator[Skill]:
    """The skills in records, each name once."""
    seen: set[str] = set()
    for record in records:
        skill = _skill(record)
        if skill is not None and skill.name not in seen:
            seen.add(skill.name)
            yield skill


def _skill(record: dict[str, Any]) -> Skill | None:
    if find_module(record, (agent_skills.MODULE,)) is None:
        return None
    try:
        content = agent_skills.from_record(record).result.encode()
    except InvalidInput:
        return None
    name = _UNNAMED.sub("-", str(record.get("name")).lower().rpartition("/")[2]).strip("-")[:_LONGEST_SKILL].strip("-")
    description = text_or_none(record.get("description")) or name
    return Skill(name, description[:_LONGEST_DESCRIPTION], content) if name else None


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
