"""Contexts, good and bad, and what is said about them: the codes at standard and at strict, errors marked with `!`."""

from typing import Any, NamedTuple


class Case(NamedTuple):
    about: str
    context: Any
    standard: str
    strict: str


def one(**item: Any) -> dict[str, Any]:
    return {"items": {"it": item}}


def tool(**changes: Any) -> dict[str, Any]:
    made = {"name": "add", "inputSchema": {"type": "object"}, **changes}
    return one(mediaType="application/json", content=made, metadata={"kind": "tool"})


def text(content: Any = "hello", **metadata: Any) -> dict[str, Any]:
    return one(mediaType="text/plain", content=content, metadata=metadata)


def nested(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


PNG = "iVBORw0KGgo="
HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
DOCUMENT = {
    "items": {
        "user_profile": {
            "mediaType": "application/json",
            "content": {"user_id": "usr_123", "preferences": {"theme": "dark"}, "permissions": ["read", "write"]},
            "metadata": {"source": "internal_db"},
        },
        "target_document": {
            "mediaType": "application/pdf",
            "ref": "s3://my-bucket/documents/report.pdf",
            "metadata": {"version": "1.2"},
        },
        "system_instruction_override": {
            "mediaType": "text/plain",
            "content": "Focus specifically on the financial results section.",
            "id": "instr-001",
        },
    }
}

CASES = [
    # good ones
    Case("the example of the original document", DOCUMENT, "ref-scheme", "ref-scheme!"),
    Case("a text", text(), "", ""),
    Case("a JSON object", one(mediaType="application/json", content={"a": [1, 2.5, None]}), "", ""),
    Case("JSON null is content", one(mediaType="application/json", content=None), "", ""),
    Case("a vendor's JSON", one(mediaType="application/vnd.api+json", content=[]), "", ""),
    Case("a picture", one(mediaType="image/png", content=PNG), "", ""),
    Case("an SVG is text", one(mediaType="image/svg+xml", content="<svg/>", metadata={"kind": "text"}), "", ""),
    Case("a type with parameters", one(mediaType='text/plain; charset="utf-8"', content="x"), "", ""),
    Case("a register's object", one(ref="openregister://a/b/c"), "", ""),
    Case("a web page", one(mediaType="text/html", ref="https://example.org/a?b=c#d"), "", ""),
    Case("a record by its CID", one(ref="cid:baeareicq"), "", ""),
    Case("a resource of this server", one(ref="mcp+pentad:metrics://orders"), "", ""),
    Case("an artifact", one(ref="a2a-artifact:task-1/report"), "", ""),
    Case("a tool", tool(description="Adds.", annotations={"readOnlyHint": True}), "", ""),
    Case("two tools", one(content=[{"name": "a", "inputSchema": {"type": "object"}}] * 2, metadata={"kind": "tool"}),
         "", "no-media-type"),
    Case("a content block", one(mediaType="application/json", content={"type": "text", "text": "x"}), "", ""),
    Case("a prompt", one(mediaType="application/json", content={"name": "p", "arguments": [{"name": "a"}]},
                         metadata={"kind": "prompt"}), "", ""),
    Case("a schema", one(mediaType="application/schema+json", content={"type": "string"}), "", ""),
    Case("a server", one(mediaType="application/json", content={"url": "https://example.org/mcp"},
                         metadata={"kind": "mcp_server"}), "", ""),
    Case("an instruction", text("Be brief.", kind="instruction"), "", ""),
    Case("everything Pentad adds", text(**{
        "x-priority": 0.7, "x-sensitivity": "internal", "x-audience": ["a*"], "x-sha256": HELLO, "x-size": 5,
        "x-expires": "2099-01-01T00:00:00Z"}), "", ""),
    Case("a cut text with its whole", one(mediaType="text/plain", content="Once", ref="context://" + HELLO,
                                          metadata={"x-truncated": True, "x-sha256": HELLO}), "", ""),
    Case("a kind as a member", {"items": {"it": {"mediaType": "text/plain", "content": "x", "kind": "text"}}}, "", ""),
    Case("32 levels", one(mediaType="application/json", content=nested(32)), "", ""),
    Case("64 items", {"items": {f"i{n}": {"mediaType": "text/plain", "content": "x"} for n in range(64)}}, "", ""),
    # doubtful ones
    Case("an empty context", {}, "empty-context", "empty-context"),
    Case("no items", {"items": {}}, "empty-context", "empty-context"),
    Case("no media type", one(content="x"), "", "no-media-type"),
    Case("nulls", one(id=None, mediaType="text/plain", content="x", ref=None, metadata=None), "",
         "null-member null-member null-member"),
    Case("content and reference", one(mediaType="text/plain", content="x", ref="https://example.org/"),
         "content-and-ref", "content-and-ref!"),
    Case("a name with a space", {"items": {"my doc": {"mediaType": "text/plain", "content": "x"}}},
         "unusual-name", "unusual-name!"),
    Case("one id twice", {"items": {n: {"id": "1", "mediaType": "text/plain", "content": n} for n in "ab"}},
         "duplicate-id", "duplicate-id!"),
    Case("JSON as text", one(mediaType="application/json", content='{"a": 1}'), "json-as-text", "json-as-text!"),
    Case("broken JSON as text", one(mediaType="application/json", content='{"a": '), "json-as-text", "json-as-text!"),
    Case("an id as reference", one(ref="artifact-17"), "ref-no-scheme", "ref-no-scheme!"),
    Case("a login in a reference", one(ref="https://ada:enigma42@example.org/"), "ref-credentials secret",
         "ref-credentials!"),
    Case("a misspelt kind", text(kind="instrution"), "unknown-kind", "unknown-kind!"),
    Case("2^53 + 1", one(mediaType="application/json", content=[9007199254740993]), "big-integer", "big-integer"),
    Case("a priority of 7", text(**{"x-priority": 7}), "bad-extra", "bad-extra!"),
    Case("an unknown sensitivity", text(**{"x-sensitivity": "cosmic"}), "bad-extra", "bad-extra!"),
    Case("an expired item", text(**{"x-expires": "2001-01-01T00:00:00Z"}), "expired", "expired!"),
    Case("a password", one(mediaType="application/json", content={"password": "enigma42"}), "secret", "secret!"),
    # bad ones
    Case("a list", [], "not-object!", "not-object!"),
    Case("AgentVault's own mistake", {"user_pref": "celsius"}, "unknown-root-member! empty-context",
         "unknown-root-member! empty-context"),
    Case("items in a list", {"items": [{"content": "x"}]}, "items-not-object!", "items-not-object!"),
    Case("an item that is a text", {"items": {"a": "x"}}, "item-not-object!", "item-not-object!"),
    Case("a number as type", one(mediaType=12, content="x"), "wrong-type!", "wrong-type! null-member no-media-type"),
    Case("metadata in a list", one(mediaType="text/plain", content="x", metadata=[1]), "wrong-type!",
         "wrong-type! null-member"),
    Case("media_type", one(media_type="text/plain", content="x"), "unknown-item-member!",
         "unknown-item-member! no-media-type"),
    Case("an empty item", one(), "empty-item!", "empty-item!"),
    Case("an empty name", {"items": {"": {"mediaType": "text/plain", "content": "x"}}}, "bad-name!", "bad-name!"),
    Case("a long name", {"items": {"n" * 129: {"mediaType": "text/plain", "content": "x"}}}, "bad-name!", "bad-name!"),
    Case("no media type at all", one(mediaType="plain", content="x"), "bad-media-type!", "bad-media-type!"),
    Case("an object as text", one(mediaType="text/plain", content={"a": 1}), "content-mismatch!", "content-mismatch!"),
    Case("a picture that is none", one(mediaType="image/png", content="not base64!"), "not-base64! not-base64!",
         "not-base64! not-base64!"),
    Case("a file of the reader's", one(ref="file:///etc/passwd"), "ref-refused!", "ref-refused!"),
    Case("code as reference", one(ref="javascript:alert(1)"), "ref-refused!", "ref-refused!"),
    Case("a reference with a space", one(ref="https://example.org/a b"), "bad-ref!", "bad-ref!"),
    Case("an address without a host", one(ref="https:///a"), "bad-ref!", "bad-ref!"),
    Case("a tool without a schema", one(mediaType="application/json", content={"name": "a"},
                                        metadata={"kind": "tool"}), "bad-tool!", "bad-tool!"),
    Case("a tool with a list as schema", tool(outputSchema=[]), "bad-tool!", "bad-tool!"),
    Case("a tool with a broken schema", tool(inputSchema={"type": "object", "properties": {"a": {"type": "strnig"}}}),
         "bad-schema!", "bad-schema!"),
    Case("a tool whose hint is a text", tool(annotations={"readOnlyHint": "yes"}), "bad-tool!", "bad-tool!"),
    Case("a block without text", one(mediaType="application/json", content={"type": "text"},
                                     metadata={"kind": "content"}), "bad-block!", "bad-block!"),
    Case("a resource with text and blob", one(mediaType="application/json", metadata={"kind": "content"}, content={
        "type": "resource", "resource": {"uri": "a:b", "text": "", "blob": ""}}), "bad-block!", "bad-block!"),
    Case("a prompt with a wrong role", one(mediaType="application/json", metadata={"kind": "prompt"}, content={
        "messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]}), "bad-prompt!", "bad-prompt!"),
    Case("an instruction that is a number", one(mediaType="application/json", content=1,
                                                metadata={"kind": "instruction"}), "kind-mismatch!", "kind-mismatch!"),
    Case("a hash of something else", text("hullo", **{"x-sha256": HELLO}), "hash-mismatch!", "hash-mismatch!"),
    Case("33 levels", one(mediaType="application/json", content=nested(33)), "too-deep!", "too-deep!"),
    Case("65 items", {"items": {f"i{n}": {"mediaType": "text/plain", "content": "x"} for n in range(65)}},
         "too-many-items!", "too-many-items!"),
    Case("65 KiB in one item", text("x" * 66_560), "item-too-large!", "item-too-large!"),
    Case("300 KiB in all", {"items": {f"i{n}": {"mediaType": "text/plain", "content": "x" * 60_000} for n in range(5)}},
         "too-large!", "too-large!"),
    Case("a NaN", one(mediaType="application/json", content=[float("nan")]), "not-finite!", "not-finite!"),
    Case("bytes", one(mediaType="application/json", content=b"x"), "converted!", "converted!"),
    Case("half a character", text("\ud800"), "half-surrogate!", "half-surrogate!"),
]  # fmt: skip
