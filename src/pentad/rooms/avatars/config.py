"""Reads an avatar's `config.json` by the original's schema. Errors name the path of what is wrong.

Unknown keys are kept. Like the original, it warns about dates, addresses, source types and sizes that make no sense
instead of refusing them.
"""

import re
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError
from pydantic.alias_generators import to_camel

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.json import check_bounds

CONFIG_FILE: Final = "config.json"
TOOL_NAMES: Final = ("query_corpus", "generate_response", "get_avatar_info", "verify_response", "verify_citation")
"""The tools that the server of one avatar may offer."""
SCHEMA_TYPES: Final = ("book", "paper", "speech", "interview", "article", "letter")
TYPES: Final = (*SCHEMA_TYPES, "textbook", "guide", "lecture")
"""The source types that the original's database accepts. Its schema lists the first six."""

SMALLEST_CHUNK: Final = 16
LARGEST_CHUNK: Final = 4096
_LARGEST_FILE: Final = 4 * MIB
_DEEPEST: Final = 64
_MOST_KEYS: Final = 100_000
_YEAR: Final = re.compile(r"-?\d{1,4}")


class _Part(BaseModel):
    """Names in the file are in camel case. Unknown keys are kept."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="allow", frozen=True, defer_build=True
    )


class DateRange(_Part):
    start: StrictStr | None = None
    end: StrictStr | None = None

    @property
    def start_year(self) -> int | None:
        return _year(self.start)

    @property
    def end_year(self) -> int | None:
        return _year(self.end)


class ListedSource(_Part):
    """A source listed in the configuration. sources.json describes the documents themselves."""

    title: StrictStr
    type: StrictStr
    year: StrictInt | None = None
    url: StrictStr | None = None
    archive_url: StrictStr | None = None
    verified: StrictBool = False


class CorpusConfig(_Part):
    description: StrictStr
    date_range: DateRange = DateRange()
    sources: list[ListedSource]


class SystemPrompt(_Part):
    identity: StrictStr
    tone: StrictStr
    constraints: list[StrictStr]
    citation_style: StrictStr


class VectorStoreConfig(_Part):
    table: StrictStr = "avatar_chunks"
    embedding_model: StrictStr = "text-embedding-3-small"
    embedding_dimensions: StrictInt = 1536
    chunk_size: StrictInt = 512
    chunk_overlap: StrictInt = 50


class McpServerConfig(_Part):
    """`mcpServer`, from the original's schema."""

    url: StrictStr | None = None
    tools: list[StrictStr] | None = None


class McpConfig(_Part):
    """`mcp`, from the original's documentation."""

    name: StrictStr | None = None
    version: StrictStr | None = None
    tools: list[StrictStr] | None = None


class PersonaConfig(_Part):
    """How the avatar speaks (Pentad's own section). Without it the citation style decides."""

    voice: Literal["student", "first_person"] | None = None


class AvatarConfig(_Part):
    """The whole `config.json`."""

    id: StrictStr = Field(pattern=r"^[a-z0-9-]+$", max_length=200)
    name: StrictStr
    description: StrictStr
    birth_year: StrictInt | None = None
    death_year: StrictInt | None = None
    expertise: list[StrictStr] = []
    corpus: CorpusConfig
    system_prompt: SystemPrompt
    vector_store: VectorStoreConfig = VectorStoreConfig()
    mcp_server: McpServerConfig = McpServerConfig()
    mcp: McpConfig = McpConfig()
    persona: PersonaConfig = PersonaConfig()

    @property
    def chunk_size(self) -> int:
        """Tokens of a passage, clamped to a sensible range."""
        return min(max(self.vector_store.chunk_size, SMALLEST_CHUNK), LARGEST_CHUNK)

    @property
    def chunk_overlap(self) -> int:
        """Tokens that two neighbouring passages share: less than half of a passage."""
        return min(max(self.vector_store.chunk_overlap, 0), self.chunk_size // 2)

    @property
    def last_year(self) -> int | None:
        """The last year of the persona's period: of the corpus' date range, or else of the person's life."""
        return self.corpus.date_range.end_year or self.death_year

    @property
    def server_name(self) -> str:
        return self.mcp.name or f"avatar-{self.id}"

    @property
    def server_version(self) -> str:
        return self.mcp.version or "1.0.0"

    @property
    def tools(self) -> list[str] | None:
        """The tools this avatar's server offers; None for all."""
        return self.mcp.tools if self.mcp.tools is not None else self.mcp_server.tools

    def as_json(self) -> dict[str, Any]:
        """The configuration as written, with unknown keys and without defaults."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def read_config(folder: Path) -> AvatarConfig:
    """The configuration of an avatar's folder."""
    return parse_config(
        json_file(folder / CONFIG_FILE, "It is what makes a folder an avatar. `pentad avatars new FOLDER` writes one.")
    )


def parse_config(data: Any) -> AvatarConfig:
    """Parse a configuration; InvalidInput names every place that is wrong."""
    if not isinstance(data, dict):
        raise InvalidInput(f"{CONFIG_FILE} is not a JSON object.", hint="It begins with { and has id, name, ...")
    try:
        return AvatarConfig.model_validate(data)
    except ValidationError as error:
        found = [(path_of(one["loc"]), one["msg"]) for one in error.errors()]
        raise InvalidInput(
            f"{CONFIG_FILE} is wrong: " + "; ".join(f"{path}: {message}" for path, message in found[:10]) + ".",
            hint="Required are id, name, description, corpus and systemPrompt.",
            details={"problems": [{"path": path, "message": message} for path, message in found]},
        ) from None


def warnings(config: AvatarConfig) -> list[str]:
    """Settings that are valid but probably mistakes."""
    found: list[str] = []
    span, size, overlap = config.corpus.date_range, config.vector_store.chunk_size, config.vector_store.chunk_overlap
    if None not in (config.birth_year, config.death_year) and (config.birth_year or 0) > (config.death_year or 0):
        found.append(f"birthYear {config.birth_year} is after deathYear {config.death_year}")
    for name, value in (("start", span.start), ("end", span.end)):
        if value is not None and not _is_date(value):
            found.append(f"corpus.dateRange.{name} {value[:40]!r} is not a date (YYYY-MM-DD)")
    if size != config.chunk_size:
        found.append(f"vectorStore.chunkSize {size} is taken as {config.chunk_size}")
    if overlap != config.chunk_overlap:
        found.append(f"vectorStore.chunkOverlap {overlap} is taken as {config.chunk_overlap}")
    if unknown := [name for name in config.tools or () if name not in TOOL_NAMES]:
        found.append(f"mcp.tools has unknown names: {', '.join(unknown)[:80]}; known are {', '.join(TOOL_NAMES)}")
    for place, source in enumerate(config.corpus.sources):
        found.extend(f"corpus.sources[{place}].{problem}" for problem in source_problems(source.type, source.url))
    return found


def source_problems(kind: str | None, url: str | None) -> list[str]:
    """What looks wrong about a source's type and address."""
    found: list[str] = []
    if kind is not None and kind not in TYPES:
        found.append(f"type {kind[:40]!r} is none of {', '.join(TYPES)}")
    if url is not None and not _is_address(url):
        found.append(f"url {url[:60]!r} is not an address")
    return found


def json_file(path: Path, why: str) -> Any:
    """The JSON in a file of an avatar's folder. Errors give the file's name without its folder."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"There is no {path.name} in the folder.", hint=why) from None
    except OSError as error:
        raise InvalidInput(f"{path.name} cannot be read: {error.strerror}.", hint=why) from None
    if len(data) > _LARGEST_FILE:
        raise LimitExceeded(f"{path.name} has {len(data):,} bytes; the limit is {_LARGEST_FILE:,}.")
    data = data.removeprefix(b"\xef\xbb\xbf")
    check_bounds(data, depth=_DEEPEST, keys=_MOST_KEYS)
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{path.name} is not JSON: {error}.", hint="Check it with a JSON validator.") from None


def path_of(location: tuple[int | str, ...]) -> str:
    """`corpus.sources[2].title`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


def _year(text: str | None) -> int | None:
    found = _YEAR.match(text or "")
    return int(found[0]) if found else None


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2012-06-12")


def _is_address(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False
