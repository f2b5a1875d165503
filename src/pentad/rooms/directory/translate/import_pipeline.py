"""Imports a source in one call: translate, migrate, classify, validate, apply certain repairs, push.

The same source gives the same record, except for its date if it has none. The source's digest is an annotation of the
record, so a repeated import is detected and stores nothing.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Forbidden, LimitExceeded, PentadError, Unauthenticated
from pentad.kernel.json_values import as_object, as_objects, text_or_none
from pentad.kernel.principal import Principal
from pentad.kernel.problems import Patch
from pentad.rooms.directory.models import Pushed, Record
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.schema_source import SchemaSource, UnknownVersion
from pentad.rooms.directory.oasf.versions import EMBEDDED, embedded_version
from pentad.rooms.directory.search.query import Filter, FilterKind, Found, Query
from pentad.rooms.directory.translate.class_migration import ClassMapping
from pentad.rooms.directory.translate.enrichment import Suggested, enrich
from pentad.rooms.directory.translate.envelope import (
    JSON_MEDIA,
    SCHEMA_VERSION,
    Doubt,
    Overrides,
    artifact_json,
    digest_of,
    iso_second,
    module_artifact,
)
from pentad.rooms.directory.translate.losses import Loss, losses_json, withheld_json
from pentad.rooms.directory.translate.migration import migrate, unmapped_problem
from pentad.rooms.directory.translate.secret_redaction import REASON, SuspiciousSource, Withheld
from pentad.rooms.directory.translate.sources import Content, Read, Source, read_source, source_parts

DIGEST_NOTE: Final = "source_digest"
"""The annotation with the digest of a record's source."""

Status = Literal["imported", "already there", "would be imported", "invalid", "suspicious", "failed"]


class Target(Protocol):
    """The node that records are imported into."""

    async def push(self, who: Principal, data: dict[str, Any]) -> Pushed: ...

    async def search(self, query: Query) -> Found: ...

    async def pull(self, cid: str) -> Record: ...


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import. Skills and domains are full or short names or ids; without them they are suggested.

    Without a schema version an OASF record keeps its own; any other source becomes a 1.0.0 record. A valid record is
    stored unchanged, whatever these options say about versions, authors, skills and domains. `allow_unmapped` lets a
    conversion drop skills and domains without a counterpart. `doubt` is the policy for values that may be secrets.
    """

    schema_version: str | None = None
    record_version: str | None = None
    authors: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    suggest: bool = True
    allow_unmapped: bool = False
    doubt: Doubt = "refuse"
    dry_run: bool = False


DEFAULT_OPTIONS: Final = ImportOptions()


@dataclass(frozen=True, slots=True)
class Imported:
    """The result for one source. An invalid record has errors and was not stored; a suspicious source has no record."""

    format: str
    record: dict[str, Any]
    cid: str
    status: Status
    losses: list[Loss] = field(default_factory=list[Loss])
    suggested: list[Suggested] = field(default_factory=list[Suggested])
    mappings: list[ClassMapping] = field(default_factory=list[ClassMapping])
    repairs: Patch = field(default_factory=Patch)
    errors: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    suspicious: list[Withheld] = field(default_factory=list[Withheld])

    @property
    def unmapped(self) -> list[ClassMapping]:
        """The skills and domains without a counterpart in the requested version."""
        return [one for one in self.mappings if one.family != "module" and one.after is None]

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"status": self.status, "format": self.format, "cid": self.cid}
        fields["losses"] = losses_json(self.losses)
        fields["withheld"] = withheld_json(self.losses)
        fields["suspicious"] = [one.as_json() for one in self.suspicious]
        for family in ("skill", "domain"):
            fields[f"suggested_{family}s"] = [one.as_json() for one in self.suggested if one.family == family]
        fields["mappings"] = [mapping.as_json() for mapping in self.mappings]
        fields["unmapped"] = [{"family": one.family, "name": one.before} for one in self.unmapped]
        return fields | {"repairs": self.repairs, "errors": self.errors, "warnings": self.warnings}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one of many sources."""

    source: str
    imported: Imported | None = None
    error: PentadError | None = None

    @property
    def status(self) -> Status:
        return "failed" if self.imported is None else self.imported.status

    @property
    def ok(self) -> bool:
        return self.status not in ("failed", "invalid", "suspicious")

    def line(self) -> str:
        if self.imported is None:
            return f"{self.source}: failed: {self.error.sentence() if self.error else ''}"
        result = f"{self.source}: {self.status}"
        return (
            f"{result}: {'; '.join(self.imported.errors)}" if self.imported.errors else f"{result}: {self.imported.cid}"
        )

    def remarks(self) -> list[str]:
        """Notes for the caller: withheld secrets, and what changed in a record."""
        if self.imported is None:
            return []
        if self.imported.format != "oasf":
            return [f"{one['path']} was withheld ({one['kind']})" for one in withheld_json(self.imported.losses)]
        renamed = [one.line() for one in self.imported.mappings if one.how not in ("same name", "same id")]
        return [*renamed, *(loss.line() for loss in self.imported.losses), *self.imported.warnings]

    def as_json(self) -> dict[str, Any]:
        if self.imported is None:
            error = self.error.as_json() if self.error else {}
            return {"source": self.source, "status": self.status, "error": error}
        return {"source": self.source, **self.imported.as_json()}


Progress = Callable[[int, Outcome], Awaitable[None]]
"""Called after each source with the number done and the last outcome."""


class Importer:
    """Imports sources into a node."""

    def __init__(self, schemas: SchemaSource, target: Target, clock: Clock | None = None) -> None:
        self._schemas = schemas
        self._target = target
        self._clock = clock or SystemClock()

    async def import_one(
        self,
        who: Principal,
        source: Content,
        form: str | None = None,
        options: ImportOptions = DEFAULT_OPTIONS,
        date: float | None = None,
    ) -> Imported:
        """Import one source. Its format is detected if not given. InvalidInput if it cannot be imported. `date` is that
        of its file, for sources without a date."""
        if options.schema_version is not None and options.schema_version not in EMBEDDED:
            raise UnknownVersion(options.schema_version, list(EMBEDDED))
        try:
            # In a thread, because searching a large source for secrets takes a while.
            moment = iso_second(self._clock.now() if date is None else date)
            given = Overrides(options.record_version, options.authors, moment, "import" if date is None else "file")
            read = await asyncio.to_thread(read_source, source, form, given, options.doubt)
        except SuspiciousSource as error:
            return _refused(form, error)
        digest = source_digest(read, options)
        stored = None if digest is None else await self._known(digest, options.schema_version or SCHEMA_VERSION)
        if stored is not None:
            return Imported(read.format, stored.data, stored.cid, "already there", read.translated.losses)
        imported = await self.prepared(read, digest, options)
        if imported.errors or options.dry_run:
            return imported
        pushed = await self._target.push(who, imported.record)
        status: Status = "already there" if pushed.new is False else "imported"
        return replace(imported, cid=pushed.cid, status=status)

    async def import_many(
        self,
        who: Principal,
        sources: Iterable[Source] | AsyncIterable[Source],
        options: ImportOptions = DEFAULT_OPTIONS,
        progress: Progress | None = None,
    ) -> list[Outcome]:
        """Import sources one by one. A bad one is reported and does not stop the rest, but a missing right does: every
        source would fail."""
        outcomes: list[Outcome] = []
        async for given in _each(sources):
            for source in source_parts(given):
                outcome = await self._outcome(who, source, options)
                outcomes.append(outcome)
                if progress is not None:
                    await progress(len(outcomes), outcome)
        return outcomes

    async def _outcome(self, who: Principal, source: Source, options: ImportOptions) -> Outcome:
        if source.error is not None:
            return Outcome(source.label, error=source.error)
        try:
            imported = await self.import_one(who, source.content, source.format, options, source.date)
        except RecursionError:
            return Outcome(source.label, error=LimitExceeded("the source is nested too deeply", hint="Flatten it."))
        except (Forbidden, Unauthenticated):  # nothing could be stored
            raise
        except PentadError as error:
            return Outcome(source.label, error=error)
        return Outcome(source.label, imported)

    async def _known(self, digest: str, version: str) -> Record | None:
        filters = (
            Filter(FilterKind.ANNOTATION, f"{DIGEST_NOTE}:{digest}"),
            Filter(FilterKind.SCHEMA_VERSION, version),
        )
        found = await self._target.search(Query(filters=filters, limit=1, quarantined=True))
        return await self._target.pull(found.hits[0].cid) if found.hits else None

    async def prepared(self, read: Read, digest: str | None, options: ImportOptions) -> Imported:
        """The record as it would be stored, with losses, suggestions and findings."""
        if digest is None:
            return await self._prepared_record(read, options)
        record, losses = read.translated
        migrated = migrate(record, options.schema_version or SCHEMA_VERSION)
        record, losses = migrated.record, losses + migrated.losses
        suggested = enrich(
            record, record["schema_version"], options.skills, options.domains, by_words=options.suggest
        )  # fmt: skip
        losses = [loss for loss in losses if loss.path not in ("skills", "domains")]  # they were empty
        if not record.get("locators"):
            record.pop("locators", None)
        record["annotations"] = {**as_object(record.get("annotations")), DIGEST_NOTE: digest}
        return await self._checked(Imported(read.format, record, "", "invalid", losses, suggested))

    async def _prepared_record(self, read: Read, options: ImportOptions) -> Imported:
        """A source that is an OASF record. A valid one is unchanged unless another version is requested."""
        record, own = dict(read.translated.result), str(read.translated.result.get("schema_version"))
        if options.schema_version not in (None, own):
            return await self._converted(read.format, record, options, options.schema_version or own)
        report = await self._schemas.validate(record)
        if not report.errors:
            warnings = [finding.line() for finding in report.warnings] + _not_applied(options)
            cid = cid_of(canonical_json(record))
            return Imported(read.format, record, cid, "would be imported", warnings=warnings)
        losses = _overridden(record, options)
        served = embedded_version(own)
        version = served.version if served else SCHEMA_VERSION
        suggested = enrich(
            record, version, options.skills, options.domains, by_words=options.suggest, guess=False
        )  # fmt: skip
        return await self._checked(Imported(read.format, record, "", "invalid", losses, suggested))

    async def _converted(self, form: str, record: dict[str, Any], options: ImportOptions, version: str) -> Imported:
        replaced = _overridden(record, options)
        migrated = migrate(record, version, allow_unmapped=True)
        named = {family for family in ("skill", "domain") if getattr(options, f"{family}s")}
        mappings = [one for one in migrated.mappings if one.family not in named]
        reason = f"converted from {record['schema_version']} to {version} as asked, so the record has another CID"
        losses = [Loss("schema_version", reason), *replaced, *migrated.losses]
        enrich(migrated.record, version, options.skills, options.domains, by_words=False)
        imported = await self._checked(Imported(form, migrated.record, "", "invalid", losses, mappings=mappings))
        if options.allow_unmapped or not imported.unmapped:
            return imported
        problems = [unmapped_problem(one, version) for one in imported.unmapped]
        return replace(imported, status="invalid", errors=[*problems, *imported.errors])

    async def _checked(self, imported: Imported) -> Imported:
        """Validate the record and apply certain repairs."""
        report = await self._schemas.validate(imported.record)
        record, repairs, report = await self._repaired(imported.record, report)
        errors = [finding.line() for finding in report.errors]
        guesses = [one.advice() for one in imported.suggested if not one.confident]
        return replace(
            imported,
            record=record,
            cid=cid_of(canonical_json(record)),
            status="invalid" if errors else "would be imported",
            repairs=repairs,
            errors=errors,
            warnings=[finding.line() for finding in report.warnings] + guesses,
        )

    async def _repaired(self, record: dict[str, Any], report: Report) -> tuple[dict[str, Any], Patch, Report]:
        if not report.errors and not report.warnings:
            return record, [], report
        from pentad.rooms.directory.oasf.repair import repair

        fixed, patch, _ = repair(record, report)
        return (fixed, patch, await self._schemas.validate(fixed)) if patch else (record, [], report)


def _refused(form: str | None, error: SuspiciousSource) -> Imported:
    losses = [Loss(one.path, REASON, one.kind) for one in error.withheld]
    return Imported(
        form or "", {}, "", "suspicious", losses, errors=[error.sentence()], suspicious=error.suspicious
    )  # fmt: skip


_OVERRIDES: Final = ("record_version", "authors", "skills", "domains")
"""The options that replace values of the source."""


def _not_applied(options: ImportOptions) -> list[str]:
    """A warning if options were ignored because the record is valid."""
    given = [name for name in _OVERRIDES if getattr(options, name)]
    return [f"It is a valid record and is kept as it is; {', '.join(given)} was not applied."] if given else []


def _overridden(record: dict[str, Any], options: ImportOptions) -> list[Loss]:
    """Set the caller's version and authors, and report every value they replace."""
    replaced = [name for name in ("skills", "domains") if getattr(options, name) and record.get(name)]
    for name, value in (("version", options.record_version), ("authors", list(options.authors))):
        if value:
            record[name] = value
            replaced.append(name)
    return [Loss(name, "it was replaced by what the caller named") for name in replaced]


def source_digest(read: Read, options: ImportOptions) -> str | None:
    """The digest that identifies a source and the caller's options; None for an OASF record, which has its CID.

    It is computed from the record, not from the source, which may contain secrets.
    """
    record = read.translated.result
    if read.format == "oasf":
        return None
    module = as_objects(record.get("modules"))[0]
    source = [_content_digest(module), as_object(module.get("data")).get("artifacts")]
    given = [options.record_version, *options.authors, [*options.skills], [*options.domains]]
    return digest_of(canonical_json([module.get("name"), source, given]))


def _content_digest(module: dict[str, Any]) -> str | None:
    """The digest of a module's artifact. It does not depend on how JSON is written."""
    artifact = module_artifact(module)
    if artifact.media_type == JSON_MEDIA and (content := artifact_json(artifact)) is not None:
        return digest_of(canonical_json(content))
    return text_or_none(as_object(module.get("artifact")).get("digest"))


async def _each(sources: Iterable[Source] | AsyncIterable[Source]) -> AsyncIterable[Source]:
    if isinstance(sources, AsyncIterable):
        async for source in sources:
            yield source
    else:
        iterator = iter(sources)
        while (source := await asyncio.to_thread(next, iterator, None)) is not None:  # may read files
            yield source
