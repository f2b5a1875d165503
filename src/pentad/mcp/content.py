"""Content blocks of tools, prompts and resources, and their form in older revisions.

A block is a msgspec struct whose encoding is its wire form. A plain dict is also a block and is sent unchanged, because
some systems Pentad is compatible with have members that the protocol does not define.
"""

from base64 import b64encode
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

from pentad.mcp.revisions import Revision


class Annotations(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Who a block is for, and how important it is."""

    audience: list[Literal["user", "assistant"]] | None = None
    priority: float | None = None
    last_modified: str | None = None


class Block(Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", kw_only=True):
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Text(Block, frozen=True, tag="text"):
    text: str


class Image(Block, frozen=True, tag="image"):
    """An image; `data` is base64. Use `Image.of(bytes, mime_type)`."""

    data: str
    mime_type: str

    @classmethod
    def of(cls, data: bytes, mime_type: str) -> "Image":
        return cls(data=b64encode(data).decode("ascii"), mime_type=mime_type)


class Audio(Block, frozen=True, tag="audio"):
    """Sound; `data` is base64. Use `Audio.of(bytes, mime_type)`."""

    data: str
    mime_type: str

    @classmethod
    def of(cls, data: bytes, mime_type: str) -> "Audio":
        return cls(data=b64encode(data).decode("ascii"), mime_type=mime_type)


class Contents(Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """The contents of one resource: `text` or `blob` (base64), never both."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    @classmethod
    def of(cls, uri: str, data: str | bytes, mime_type: str | None = None) -> "Contents":
        if isinstance(data, str):
            return cls(uri=uri, text=data, mime_type=mime_type or "text/plain")
        return cls(uri=uri, blob=b64encode(data).decode("ascii"), mime_type=mime_type or "application/octet-stream")


class Embedded(Block, frozen=True, tag="resource"):
    """A resource embedded in the answer."""

    resource: Contents


class Link(Block, frozen=True, tag="resource_link"):
    """A link to a resource that the client can read."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


Content = Text | Image | Audio | Embedded | Link | dict[str, Any]


class Message(Struct, frozen=True):
    """One turn of a prompt or of a sampling request."""

    role: Literal["user", "assistant"]
    content: Content

    @classmethod
    def user(cls, text: str) -> "Message":
        return cls(role="user", content=Text(text=text))


class Icon(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An icon that clients show beside a name."""

    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: Literal["light", "dark"] | None = None


def for_revision(block: Content, revision: Revision) -> Content:
    """The block in a revision's form; kinds that the revision lacks are replaced with older ones."""
    if isinstance(block, dict):
        return block
    if isinstance(block, Audio) and not revision.audio:
        return Embedded(resource=Contents(uri="embedded:audio", mime_type=block.mime_type, blob=block.data))
    if isinstance(block, Link) and not revision.links:
        return Text(text=f"{block.title or block.name}: {block.uri}")
    if revision.meta_on_content:
        return block
    plain: dict[str, Any] = to_builtins(block)
    plain.pop("_meta", None)
    if isinstance(resource := plain.get("resource"), dict):
        resource.pop("_meta", None)  # pyright: ignore[reportUnknownMemberType]  to_builtins is untyped
    if isinstance(block.annotations, Annotations):
        plain["annotations"].pop("lastModified", None)
    return plain
