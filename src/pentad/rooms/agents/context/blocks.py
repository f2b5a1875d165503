"""MCP's content blocks and tool results as items of a context, and back, without losing anything either way.

What a block has and an item has no member for is kept in `metadata["x-block"]`; what an item has and a block has no
member for is kept in `_meta["pentad/item"]`. So a block comes back as the same block, and an item as the same item.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.rooms.agents.context.kinds import BLOCKS, inferred, is_base64, is_binary, kind_of, media_of
from pentad.rooms.agents.context.walking import exact_json

BLOCK_KEY: Final = "x-block"
ITEM_KEY: Final = "pentad/item"
STRUCTURED: Final = "structuredContent"
_FAILED: Final = "x-is-error"

Item = dict[str, Any]
Block = dict[str, Any]


def items_of_blocks(blocks: Sequence[Block]) -> dict[str, Item]:
    """The blocks as items, in their order, under names of their own."""
    items: dict[str, Item] = {}
    names = _Names(items)
    for block in blocks:
        name, item = item_of_block(block)
        items[names.free(name)] = item
    return items


def blocks_of_items(items: Mapping[str, Item]) -> list[Block]:
    """The items as blocks, in their order; `items_of_blocks` gives the same items under the same names."""
    blocks: list[Block] = []
    taken: dict[str, Item] = {}
    names = _Names(taken)
    for name, item in items.items():
        block = block_of_item(item)
        default, back = item_of_block(block)
        if names.free(default) != name or back != item:
            block = _carrying(block, {"name": name, "item": _without_content(item)})
        taken[name] = item
        blocks.append(block)
    return blocks


def item_of_block(block: Block) -> tuple[str, Item]:
    """A name that suits, and the item."""
    meta = block.get("_meta")
    if isinstance(meta, dict) and isinstance(carried := cast("dict[str, Any]", meta).get(ITEM_KEY), dict):
        return _carried(block, cast("dict[str, Any]", carried))
    rest = dict(block)
    kind = rest.pop("type", None)
    item: Item = {}
    name = str(kind)
    if kind == "text" and isinstance(rest.get("text"), str):
        item = {"mediaType": "text/plain", "content": rest.pop("text")}
    elif kind in ("image", "audio") and "data" in rest and "mimeType" in rest:
        item = {"mediaType": rest.pop("mimeType"), "content": rest.pop("data")}
    elif kind == "resource_link" and "uri" in rest:
        name = str(rest.get("name") or kind)
        item = {"mediaType": rest.pop("mimeType")} if "mimeType" in rest else {}
        item["ref"] = rest.pop("uri")
    elif kind == "resource" and isinstance(rest.get("resource"), dict):
        resource = dict(cast("dict[str, Any]", rest.pop("resource")))
        item = {"mediaType": resource.pop("mimeType")} if "mimeType" in resource else {}
        member = "text" if "text" in resource else "blob"
        item["content"] = resource.pop(member, None)
        rest["resource"] = {**resource, "as": member}
        name = _last_segment(str(resource.get("uri") or kind))
    else:
        item, rest, kind = {"mediaType": "application/json", "content": block}, {}, "content"
    item["metadata"] = {"kind": kind, BLOCK_KEY: rest} if rest else {"kind": kind}
    return name, item


def block_of_item(item: Item) -> Block:
    """The block that says what the item says, for a reader who knows blocks only."""
    metadata = cast("dict[str, Any]", item.get("metadata") or {})
    kind, rest = metadata.get("kind"), metadata.get(BLOCK_KEY, {})
    if kind in BLOCKS and isinstance(rest, dict):
        block = _rebuilt(kind, item, cast("dict[str, Any]", rest))
        if block is not None:
            return block
    content, media = item.get("content"), str(item.get("mediaType") or "").lower()
    if content is None and isinstance(ref := item.get("ref"), str):
        link: Block = {"type": "resource_link", "uri": ref, "name": _last_segment(ref)}
        return {**link, "mimeType": item["mediaType"]} if isinstance(item.get("mediaType"), str) else link
    if kind == "content" and isinstance(content, dict):
        return dict(cast("dict[str, Any]", content))
    if not isinstance(content, str):
        return {"type": "text", "text": exact_json(content).decode("utf-8", "replace")}
    shown = inferred(item, media_of(item))
    if shown in ("image", "audio") and is_base64(content):
        return {"type": shown, "data": content, "mimeType": item["mediaType"]}
    if is_binary(media) and is_base64(content):
        resource = {"uri": "context:item", "mimeType": item["mediaType"], "blob": content}
        return {"type": "resource", "resource": resource}
    return {"type": "text", "text": content}


def items_of_result(result: Mapping[str, Any]) -> dict[str, Item]:
    """A tool's result as items: its blocks, and its structured content as JSON."""
    items = items_of_blocks(cast("list[Block]", result.get("content") or []))
    if STRUCTURED in result:
        metadata = {"kind": "json", "x-from": STRUCTURED}
        structured: Item = {"mediaType": "application/json", "content": result[STRUCTURED], "metadata": metadata}
        items[_Names(items).free(STRUCTURED)] = structured
    if result.get("isError"):
        if not items:
            items["text"] = {"mediaType": "text/plain", "content": "", "metadata": {"kind": "text"}}
        for item in items.values():
            item["metadata"][_FAILED] = True
    return items


def result_of_items(items: Mapping[str, Item]) -> dict[str, Any]:
    """The items as a tool's result; what came from a result comes back as that result."""
    content: dict[str, Item] = {}
    result: dict[str, Any] = {}
    failed = False
    for name, item in items.items():
        metadata = dict(cast("dict[str, Any]", item.get("metadata") or {}))
        failed = bool(metadata.pop(_FAILED, False)) or failed
        if metadata.get("x-from") == STRUCTURED:
            result[STRUCTURED] = item.get("content")
        else:
            content[name] = {**item, "metadata": metadata} if "metadata" in item else item
    return {"content": blocks_of_items(content), **result, "isError": failed}


def item_of_tool(tool: Mapping[str, Any]) -> Item:
    """A tool's description as an item."""
    return {"mediaType": "application/json", "content": dict(tool), "metadata": {"kind": "tool"}}


def tools_of(items: Mapping[str, Item]) -> list[dict[str, Any]]:
    """Every tool that is described in a context."""
    tools: list[dict[str, Any]] = []
    for item in items.values():
        if kind_of(item) == "tool":
            content = item.get("content")
            given = cast("list[Any]", content) if isinstance(content, list) else [content]
            tools += [cast("dict[str, Any]", tool) for tool in given if isinstance(tool, dict)]
    return tools


def _rebuilt(kind: str, item: Item, rest: dict[str, Any]) -> Block | None:
    """The block an item was made of, if it still has what that takes."""
    block: Block = {"type": kind, **rest}
    content, ref, media = item.get("content"), item.get("ref"), item.get("mediaType")
    if kind == "resource_link":
        if not isinstance(ref, str) or content is not None:
            return None
        block |= {"uri": ref, "name": rest.get("name", _last_segment(ref))}
    elif kind == "resource":
        about = rest.get("resource")
        if not isinstance(content, str) or not isinstance(about, dict):
            return None
        resource = dict(cast("dict[str, Any]", about))
        resource[resource.pop("as", "text")] = content
        block["resource"] = {**resource, "mimeType": media} if isinstance(media, str) else resource
        return block
    elif not isinstance(content, str):
        return None
    else:
        block["text" if kind == "text" else "data"] = content
    if kind != "text" and isinstance(media, str):
        block["mimeType"] = media
    return block


def _without_content(item: Item) -> Item:
    """The item but for its content where the block says it: a text as it is, anything else as the block cannot."""
    block = block_of_item(item)
    if isinstance(content := item.get("content"), str) and _content_of(block) == content:
        return {**{key: value for key, value in item.items() if key != "content"}, "content-is": "block"}
    return dict(item)


def _content_of(block: Block) -> Any:
    if block.get("type") == "resource":
        resource = cast("dict[str, Any]", block.get("resource") or {})
        return resource.get("text", resource.get("blob"))
    return block.get("text", block.get("data"))


def _carrying(block: Block, carried: dict[str, Any]) -> Block:
    meta = block.get("_meta")
    return {**block, "_meta": {**(cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}), ITEM_KEY: carried}}


def _carried(block: Block, carried: dict[str, Any]) -> tuple[str, Item]:
    item = dict(cast("dict[str, Any]", carried.get("item") or {}))
    if item.pop("content-is", None) == "block":
        item["content"] = _content_of(block)
    return str(carried.get("name", "item")), item


class _Names:
    """Finds names that are free among those taken; it remembers how far the numbers are, as blocks may be many."""

    def __init__(self, taken: Mapping[str, Any]) -> None:
        self._taken = taken
        self._numbers: dict[str, int] = {}

    def free(self, name: str) -> str:
        if name not in self._taken:
            return name
        number = self._numbers.get(name, 2)
        while f"{name}_{number}" in self._taken:
            number += 1
        self._numbers[name] = number
        return f"{name}_{number}"


def _last_segment(uri: str) -> str:
    return uri.rstrip("/").rpartition("/")[2].partition("?")[0][:100] or "resource"
