"""The tools' input schemas in `tools/list`, as short as models can still use.

Every client pays for these texts in every conversation, so they are written by hand. A test compares them with the
models that validate arguments, and limits their size.
"""

from typing import Any, Final, Literal, get_args

_REF: Final[dict[str, Any]] = {"type": ["integer", "string"]}
_INT: Final[dict[str, Any]] = {"type": "integer"}
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_NAMES: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}
_OBJECTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "object"}}


def _about(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}


_ID: Final = _about(_REF, "id, uuid, slug")
_PAGING: Final[dict[str, Any]] = {
    "limit": _INT,
    "offset": _INT,
    "fields": _about(_NAMES, "only these"),
    "max_tokens": _about(_INT, "cut to fit"),
}
_WHY: Final[dict[str, Any]] = {"reason": _about(_TEXT, "for the history")}
_CONFIRM: Final = _about(_TEXT, "token from the refusal or plan")

RARE_OF_ENTITIES: Final = frozenset({"confirm", "version", "to_version", "as_of", "reason"})
"""Arguments of `registers` and `schemas` that few conversations need. An answer that needs `confirm` says so."""
RARE: Final = frozenset({
    "page", "count", "facets", "json_patch", "idempotency_key", "atomic", "to_version", "seconds", "reason", "as_of",
    "deleted", "confirm", "key", "extend",
})  # fmt: skip
"""Arguments of `objects` that few conversations need."""

EntityAction = Literal["list", "get", "create", "update", "delete"]
RegisterAction = Literal[EntityAction, "describe"]
SchemaAction = Literal[EntityAction, "preflight", "patch", "plan", "history", "diff", "undo"]
WriteAction = Literal["create", "update", "patch", "upsert", "delete"]
"""The actions allowed in a row of a bulk write or a plan."""
ObjectAction = Literal[
    EntityAction, "patch", "upsert", "bulk", "plan", "commit", "undo", "history", "diff", "revert", "verify", "changes",
    "lock", "unlock", "restore", "purge", "can_delete", "uses", "used",
]  # fmt: skip
AttachmentAction = Literal["list", "read", "write", "delete", "upload_link"]
ViewAction = Literal[EntityAction, "run"]
READING_ACTIONS: Final = frozenset({
    "list", "get", "read", "run", "describe", "preflight", "history", "diff", "verify", "changes", "can_delete",
    "uses", "used",
})  # fmt: skip
_TO_WRITE: Final = frozenset({
    "data", "migration", "if_version", "idempotency_key", "json_patch", "operations", "atomic", "plan", "seconds",
    "reason", "text", "base64", "source", "confirm", "key",
})  # fmt: skip


def _schema(actions: Any, required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    action = {"type": "string", "enum": list(get_args(actions))}
    return {"type": "object", "properties": {"action": action, **properties}, "required": required}


def reading(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema for read-only callers: the actions that read, and their arguments."""
    properties = schema["properties"]
    actions = [action for action in properties["action"]["enum"] if action in READING_ACTIONS]
    used = {name: one for name, one in properties.items() if name not in _TO_WRITE or "preflight" in actions}
    return {**schema, "properties": {**used, "action": {"type": "string", "enum": actions}}}


REGISTERS: Final = _schema(
    RegisterAction,
    ["action"],
    id=_ID,
    data=_about(_OBJECT, "title, slug, description, schemas [ids to add], detach [ids], authorization"),
    if_version=_about(_TEXT, "fail if changed since"),
    confirm=_CONFIRM,
    **_PAGING,
)
SCHEMAS: Final = _schema(
    SchemaAction,
    ["action"],
    id=_ID,
    data=_about(
        _OBJECT, "title, properties (JSON Schema 2020-12), required, configuration; update merges, null removes"
    ),
    operations=_about(
        _OBJECTS, "patch, plan: [{op: add|change|rename|drop|reorder, property, definition, required, to}]"
    ),
    migration=_about(
        _OBJECTS, "[{step: rename|default|cast|drop|enum_map, property, to|value|values}], as plan suggests"
    ),
    if_version=_TEXT,
    confirm=_CONFIRM,
    version=_about(_INT, "with get, diff, undo, plan"),
    to_version=_INT,
    as_of={"type": ["string", "number"]},
    **_PAGING,
    **_WHY,
)
OBJECTS: Final = _schema(
    ObjectAction,
    ["action", "register", "schema"],
    register=_ID,
    schema=_REF,
    id=_about(_REF, "uuid, slug, unique value"),
    data=_about(_OBJECT, "properties; patch, upsert merge"),
    filter=_about(
        _OBJECT,
        '{"status":"open","due":{"gte":"-60d","lte":"today"},"applicant.city":{"in":["a","b"]},"permits":{"exists":false}'
        ',"or":[...]}; eq ne gt gte lt lte in nin like exists contains; and or not; @self.created etc.',
    ),
    search=_about(_TEXT, "full text"),
    sort=_about(_NAMES, '["-price","name"]'),
    cursor=_about(_TEXT, "from the last answer"),
    page=_INT,
    count=_about({"type": "boolean"}, "false: no total"),
    facets=_about(_NAMES, "count these values"),
    aggregate=_about(
        _OBJECT,
        '{"metrics":{"n":"count","fees":{"sum":"fee"}},"group_by":["status",{"path":"due","by":"month"}]'
        ',"having":{"n":{"gte":5}},"sort":["-n"]}; avg min max',
    ),
    as_of=_about({"type": ["string", "number"]}, "as it was: a time, or change:<id>"),
    if_version=_about(_INT, "fail if changed since"),
    idempotency_key=_TEXT,
    json_patch=_about(_OBJECTS, "RFC 6902"),
    operations=_about(
        _OBJECTS,
        "bulk, plan: [{action: create|update|patch|upsert|delete, id, data, key, if_version}]; plan: or filter, data",
    ),
    atomic={"type": "boolean", "default": True},
    key=_about(_NAMES, "upsert by these properties"),
    plan=_about(_TEXT, "for commit, undo, changes; undo by id: its last change"),
    version=_about(_INT, "with revert, diff"),
    to_version=_INT,
    seconds=_about(_INT, "with lock"),
    extend=_about(_NAMES, "references to show whole, or all"),
    deleted={"type": "string", "enum": ["include", "only"]},
    confirm=_CONFIRM,
    **{**_PAGING, "fields": _about(_NAMES, 'only these: ["title","author.name"]')},
    **_WHY,
)

ATTACHMENTS: Final = _schema(
    AttachmentAction,
    ["action", "register", "schema", "id"],
    register=_ID,
    schema=_ID,
    id=_about(_REF, "the object: uuid, slug or unique value"),
    name=_about(_TEXT, "the file"),
    content=_about({"type": "string", "enum": ["text", "base64"]}, "with read (default text)"),
    offset=_about(_INT, "with read: next_offset of the last page"),
    limit=_about(_INT, "with read: characters or bytes"),
    text=_about(_TEXT, "with write"),
    base64=_about(_TEXT, "with write"),
    source=_about(_TEXT, "with write: uri of an attachment to copy"),
)
VIEWS: Final = _schema(
    ViewAction,
    ["action"],
    id=_about(_TEXT, "id or slug"),
    data=_about(
        _OBJECT,
        'title, register, schema, query, slug, description, shared; query {"filter":{},"search":"","sort":["-fee"],'
        '"columns":["number","applicant.city",{"name":"Total","expression":"fee*2"},{"count":"permits"},{"name":"Fees",'
        '"sum":"permits.fee","filter":{}}],"limit":50}; rollups: count sum avg min max latest; or "aggregate"'
        " as in objects",
    ),
    filter=_about(_OBJECT, "with run: one more filter"),
    cursor=_about(_TEXT, "from the last answer"),
    limit=_INT,
    if_version=_about(_INT, "fail if changed since"),
    max_tokens=_PAGING["max_tokens"],
)

LIST_ANSWER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"results": {"type": "array"}, "total": _INT, "cursor": _TEXT},
}
"""The output schema: a list has `results`, every other answer is an object."""
OBJECTS_ANSWER: Final[dict[str, Any]] = {
    **LIST_ANSWER,
    "properties": {**LIST_ANSWER["properties"], "total": {"type": ["integer", "object"]}},
}
"""The total of an aggregate is its figures over all groups."""
