"""Translates agent skills: a SKILL.md with its frontmatter, to a record and back.

The record keeps the file as the module's artifact, so the export is identical byte for byte. If a record has no
artifact, the export writes a new file from its manifest.
"""

import re
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_list, as_object, as_texts, text_or_none
from pentad.rooms.directory.translate import frontmatter
from pentad.rooms.directory.translate.envelope import (
    NO_OVERRIDES,
    Overrides,
    descriptor,
    find_module,
    first_date,
    module_artifact,
    module_path,
    new_record,
    unexported_parts,
)
from pentad.rooms.directory.translate.json_objects import without_empty
from pentad.rooms.directory.translate.losses import Loss, Translated

MODULE: Final = "core/language_model/agentskills"
MODULE_ID: Final = 10302
MEDIA: Final = "application/agent-skills+md"
SKILL_FILE: Final = "SKILL.md"
_WORD: Final = re.compile(r"(?:[^\s()]|\([^()]*\))+|[()]")


def to_record(source: dict[str, Any], given: Overrides = NO_OVERRIDES) -> Translated[dict[str, Any]]:
    """The record of `{"skillMarkdown": text}`."""
    text = text_or_none(source.get("skillMarkdown"))
    if text is None:
        raise InvalidInput("missing 'skillMarkdown' in input data", hint="Give the text of the SKILL.md.")
    losses = [Loss(key, "only skillMarkdown is imported") for key in source if key != "skillMarkdown"]
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("the skill's text has half of a surrogate pair", hint="Write it as UTF-8.") from None
    manifest, found = manifest_of(text)
    metadata = found.section("metadata")
    module = {
        "name": MODULE,
        "id": MODULE_ID,
        "data": {"skill_file": SKILL_FILE, "skill_manifest": manifest},
        "artifact": descriptor(MEDIA, content),
    }
    record = new_record(
        name=manifest["name"],
        description=manifest["description"],
        version=text_or_none(metadata.get("version")),
        authors=[text_or_none(metadata.get("author")) or ""],
        created_at=first_date(metadata.get(key) for key in ("created_at", "created", "date", "updated_at", "updated")),
        module=module,
        given=given,
    )
    return Translated(record, losses)


def manifest_of(text: str) -> tuple[dict[str, Any], frontmatter.Frontmatter]:
    """The manifest from the frontmatter of a SKILL.md, in OASF form."""
    found = frontmatter.read(frontmatter.split(text)[0])
    for key in ("name", "description"):
        if not (found.text(key) or "").strip():
            raise InvalidInput(f"missing '{key}' in frontmatter", hint="A skill needs a name and a description.")
    tools = [word for text in found.texts("allowed-tools") for word in _words(text)]
    metadata = found.section("metadata")
    manifest = {
        "name": (found.text("name") or "").strip(),
        "description": (found.text("description") or "").strip(),
        "license": found.text("license") if "license" not in found.beyond else None,
        "compatibility": list(dict.fromkeys(found.texts("compatibility"))),
        "allowed_tools": list(dict.fromkeys(tools)),
        "version": text_or_none(metadata.get("version")),
        "frontmatter_metadata": metadata,
    }
    return without_empty(manifest), found


def _words(text: str) -> list[str]:
    """Split at spaces, but not within brackets: `Bash(git add:*)` is one tool."""
    return [word.rstrip(",") for word in _WORD.findall(text) if word.rstrip(",")]


def from_record(record: dict[str, Any]) -> Translated[str]:
    """The SKILL.md of a record."""
    module = find_module(record, (MODULE,))
    if module is None:
        raise InvalidInput("Agent Skills module not found in record", hint=f"The record needs a module {MODULE}.")
    found = module_artifact(module)
    path = module_path(record, module)
    if found.media_type and found.media_type not in (MEDIA, "text/markdown", "text/plain"):
        raise InvalidInput(
            f"the skill is a bundle ({found.media_type[:80]}), not a single file", hint="Unpack the artifact instead."
        )
    data = as_object(module.get("data"))
    losses = unexported_parts(record, module, "a SKILL.md")
    losses += [
        Loss(f"{path}.data.artifacts[{index}]", "a SKILL.md is one file; the others of its folder are not in it")
        for index, _ in enumerate(as_list(data.get("artifacts")))
    ]
    if found.content is not None:
        try:
            return Translated(found.content.decode(), losses)
        except UnicodeDecodeError:
            losses.append(Loss(f"{path}.artifact", "the artifact is not UTF-8, so it was not used"))
    elif found.why:
        losses.append(Loss(f"{path}.artifact", found.why))
    losses.append(Loss(f"{path}.artifact", "the record has only the manifest, so the file has no text below it"))
    text, lost = write_skill(as_object(data.get("skill_manifest")))
    return Translated(text, losses + [Loss(f"{path}.data.skill_manifest.{loss.path}", loss.reason) for loss in lost])


def write_skill(manifest: dict[str, Any]) -> Translated[str]:
    """A SKILL.md written from a manifest."""
    name, description = text_or_none(manifest.get("name")), text_or_none(manifest.get("description"))
    if name is None or description is None:
        raise InvalidInput("skill manifest has no name or description", hint="Give the module a whole skill_manifest.")
    fields = {
        "name": name,
        "description": description,
        "license": text_or_none(manifest.get("license")),
        "compatibility": ", ".join(as_texts(manifest.get("compatibility"))),
        "allowed-tools": " ".join(as_texts(manifest.get("allowed_tools"))),
    }
    lines = [f"{key}: {frontmatter.quoted(value)}" for key, value in fields.items() if value]
    metadata = dict(as_object(manifest.get("frontmatter_metadata")))
    if version := text_or_none(manifest.get("version")):
        metadata.setdefault("version", version)
    pairs = {key: text for key in sorted(metadata) if (text := _written_value(key, metadata[key])) is not None}
    if pairs:
        lines.append("metadata:")
        lines += [f"  {key}: {value}" for key, value in pairs.items()]
    lost = [
        Loss(f"frontmatter_metadata.{key}", "only texts and lists of texts can be written into a frontmatter")
        for key in sorted(metadata.keys() - pairs.keys())
    ]
    return Translated("---\n" + "\n".join(lines) + "\n---\n", lost)


def _written_value(key: str, value: Any) -> str | None:
    if isinstance(value, list) and frontmatter.is_key(key) and all(isinstance(item, str) for item in as_list(value)):
        return "[" + ", ".join(frontmatter.quoted(item, always=True) for item in as_texts(value)) + "]"
    return frontmatter.quoted(value) if isinstance(value, str) and frontmatter.is_key(key) else None
