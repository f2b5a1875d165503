"""Declarations: a typed async function becomes a tool, a resource or a prompt.

    class Greeting(Arguments):
        name: str = Field(description="Whom to greet.")

    @tool("greet", read_only=True)
    async def greet(arguments: Greeting, call: Call[Service]) -> str:
        "Greets somebody by name."
        return f"Hello, {arguments.name}!"

A declaration is frozen and complete when the module is imported: a bad name, a missing description or a wrong signature
fails there, not at the first call.
"""

import inspect
import re
import typing
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import Action
from pentad.mcp.arguments import Arguments
from pentad.mcp.asking import MissingCapability
from pentad.mcp.call import Call
from pentad.mcp.content import Annotations, Content, Contents, Icon, Message
from pentad.mcp.header_params import HeaderParam, header_params
from pentad.mcp.tasks import CAPABILITY, TaskSupport
from pentad.mcp.uri_templates import UriTemplate, compile_template

_NAME: Final = re.compile(r"[A-Za-z0-9_./-]{1,64}")
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_MOST_DESCRIPTION: Final = 4000

Function = Callable[..., Coroutine[Any, Any, Any]]
Completer = Callable[[str, Call[Any], Mapping[str, str]], Coroutine[Any, Any, Sequence[str]]]
"""Given what was typed so far, the call and the other arguments: the values that fit."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """An answer a tool composes itself. `structured` is a model or plain JSON; without `content` its JSON is the text.

    `literal` replaces the whole result object, where a document promises a shape the protocol does not know.
    """

    content: Sequence[Content] | None = None
    structured: Any = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None
    literal: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A declared tool."""

    name: str
    description: str
    function: Function
    arguments: type[BaseModel] | None
    takes_call: bool
    result: type[BaseModel] | None
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    title: str | None
    action: Action
    hints: Mapping[str, bool]
    icons: Sequence[Icon]
    headers: Sequence[HeaderParam]
    seconds: float | None
    heavy: bool
    omit_none: bool
    aliases: Sequence[str]
    meta: Mapping[str, Any] | None
    task: TaskSupport | None

    def listing(self) -> dict[str, Any]:
        """The tool as the newest revision lists it; older ones see fewer of the fields."""
        entry: dict[str, Any] = {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
        if self.title:
            entry["title"] = self.title
        if self.output_schema:
            entry["outputSchema"] = self.output_schema
        if self.hints:
            entry["annotations"] = dict(self.hints)
        if self.icons:
            entry["icons"] = list(self.icons)
        if self.meta:
            entry["_meta"] = dict(self.meta)
        return entry


@dataclass(frozen=True, slots=True)
class Resource:
    """A declared resource: one address, or a template for many."""

    uri: str
    name: str
    description: str
    function: Callable[..., Coroutine[Any, Any, str | bytes | Contents | Sequence[Contents]]]
    takes_call: bool
    template: UriTemplate | None
    title: str | None
    mime_type: str | None
    annotations: Annotations | None
    icons: Sequence[Icon]
    completers: Mapping[str, Completer]
    seconds_fresh: float

    def listing(self) -> dict[str, Any]:
        key = "uri" if self.template is None else "uriTemplate"
        entry: dict[str, Any] = {key: self.uri, "name": self.name, "description": self.description}
        if self.title:
            entry["title"] = self.title
        if self.mime_type:
            entry["mimeType"] = self.mime_type
        if self.annotations:
            entry["annotations"] = self.annotations
        if self.icons:
            entry["icons"] = list(self.icons)
        return entry


@dataclass(frozen=True, slots=True)
class Prompt:
    """A declared prompt; its arguments model has only strings, as the protocol wants."""

    name: str
    description: str
    function: Callable[..., Coroutine[Any, Any, str | Sequence[Message]]]
    arguments: type[BaseModel] | None
    takes_call: bool
    title: str | None
    icons: Sequence[Icon]
    completers: Mapping[str, Completer]

    def listing(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"name": self.name, "description": self.description}
        if self.title:
            entry["title"] = self.title
        if self.arguments is not None:
            entry["arguments"] = [
                {"name": info.alias or name, "description": info.description or "", "required": _asked_for(info)}
                for name, info in self.arguments.model_fields.items()
            ]
        if self.icons:
            entry["icons"] = list(self.icons)
        return entry


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """A page of resources that exist only at run time: wire entries (`uri`, `name`, ...) and where to go on."""

    entries: Sequence[Mapping[str, Any]]
    cursor: str | None = None


ResourceListing = Callable[[Call[Any], str | None], Coroutine[Any, Any, ResourcePage]]


ASKED_FOR: Final[JsonDict] = {"asked_for": True}
"""Put into a field's `json_schema_extra`: a prompt lists the argument as required, and goes on with its default."""


def _asked_for(info: FieldInfo) -> bool:
    return info.is_required() or info.json_schema_extra == ASKED_FOR


def tool(
    name: str,
    *,
    title: str | None = None,
    description: str | None = None,
    action: Action | None = None,
    read_only: bool = False,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool = False,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    icons: Sequence[Icon] = (),
    seconds: float | None = None,
    heavy: bool = False,
    omit_none: bool = True,
    aliases: Sequence[str] = (),
    meta: Mapping[str, Any] | None = None,
    task: TaskSupport | None = None,
) -> Callable[[Function], Tool]:
    """Declare a tool.

    `action` (read, write, admin) is what the caller's scopes must allow; by default it follows `read_only`.
    `input_schema` replaces the listed schema where an exact one is promised; the model still does the checking.
    `task` lets it put its answer off with `call.defer`, or (`required`) keeps out clients that cannot wait for one.
    """

    def declare(function: Function) -> Tool:
        what = f"tool {name!r}"
        parameters, returns, takes_call = _signature(function, what)
        arguments = _arguments_model(parameters, what)
        result = _result_model(returns, what)
        if task is not None and not takes_call:
            raise Misconfigured(f"{what} has no way to put its answer off.", hint="Take `call`.")
        schema = dict(input_schema) if input_schema is not None else _input_schema(arguments)
        hints = {"readOnlyHint": read_only, "openWorldHint": open_world}
        if not read_only:
            hints["destructiveHint"] = True if destructive is None else destructive
            hints["idempotentHint"] = bool(idempotent)
        shown = (
            output_schema if output_schema is not None else result.model_json_schema(by_alias=True) if result else None
        )
        return Tool(
            name=_checked_name(name, what),
            description=_checked_text(description or inspect.getdoc(function), what),
            function=_for_clients_with_tasks(function) if task == "required" else function,
            arguments=arguments,
            takes_call=takes_call,
            result=result,
            input_schema=schema,
            output_schema=shown,
            title=title,
            action=action or ("read" if read_only else "write"),
            hints=hints,
            icons=tuple(icons),
            headers=header_params(schema, what),
            seconds=seconds,
            heavy=heavy,
            omit_none=omit_none,
            aliases=tuple(_checked_name(alias, what) for alias in aliases),
            meta=meta,
            task=task,
        )

    return declare


def resource(
    uri: str,
    *,
    name: str,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    annotations: Annotations | None = None,
    icons: Sequence[Icon] = (),
    complete: Mapping[str, Completer] | None = None,
    seconds_fresh: float = 0,
) -> Callable[[Function], Resource]:
    """Declare a resource. With `{variables}` in the address it is a template and the function takes them by name."""

    def declare(function: Function) -> Resource:
        what = f"resource {uri!r}"
        if ":" not in uri or _UNPRINTABLE.search(uri):
            raise Misconfigured(f"{what} has no scheme, or unprintable characters.", hint="Write it as scheme://path.")
        parameters, _, takes_call = _signature(function, what)
        template = compile_template(uri) if "{" in uri else None
        wanted = set(template.variables) if template else set[str]()
        if set(parameters) != wanted:
            raise Misconfigured(f"{what} takes {sorted(parameters)}, its address names {sorted(wanted)}.")
        return Resource(
            uri=uri,
            name=name,
            description=_checked_text(description or inspect.getdoc(function), what),
            function=function,
            takes_call=takes_call,
            template=template,
            title=title,
            mime_type=mime_type,
            annotations=annotations,
            icons=tuple(icons),
            completers=_checked_completers(complete, wanted, what),
            seconds_fresh=seconds_fresh,
        )

    return declare


def prompt(
    name: str,
    *,
    title: str | None = None,
    description: str | None = None,
    icons: Sequence[Icon] = (),
    complete: Mapping[str, Completer] | None = None,
) -> Callable[[Function], Prompt]:
    """Declare a prompt."""

    def declare(function: Function) -> Prompt:
        what = f"prompt {name!r}"
        parameters, _, takes_call = _signature(function, what)
        arguments = _arguments_model(parameters, what)
        known = {info.alias or key for key, info in arguments.model_fields.items()} if arguments else set[str]()
        return Prompt(
            name=_checked_name(name, what),
            description=_checked_text(description or inspect.getdoc(function), what),
            function=function,
            arguments=arguments,
            takes_call=takes_call,
            title=title,
            icons=tuple(icons),
            completers=_checked_completers(complete, known, what),
        )

    return declare


def _signature(function: Callable[..., Any], what: str) -> tuple[dict[str, Any], Any, bool]:
    """The annotated parameters other than `call`, the annotated return, and whether `call` is taken."""
    if not inspect.iscoroutinefunction(function):
        raise Misconfigured(f"{what} must be an async function.", hint="Write `async def`.")
    hints = typing.get_type_hints(function)
    takes_call = False
    parameters: dict[str, Any] = {}
    for name in inspect.signature(function).parameters:
        if name not in hints:
            raise Misconfigured(f"{what}: parameter {name!r} has no type.", hint="Annotate it.")
        if hints[name] is Call or typing.get_origin(hints[name]) is Call:
            if name != "call":
                raise Misconfigured(f"{what}: the Call parameter is named {name!r}.", hint="Name it `call`.")
            takes_call = True
        else:
            parameters[name] = hints[name]
    if "return" not in hints:
        raise Misconfigured(f"{what} does not say what it returns.", hint="Annotate the return.")
    return parameters, hints["return"], takes_call


def _arguments_model(parameters: dict[str, Any], what: str) -> type[BaseModel] | None:
    if not parameters:
        return None
    kind = parameters.get("arguments")
    if len(parameters) != 1 or not (isinstance(kind, type) and issubclass(kind, Arguments)):
        raise Misconfigured(
            f"{what} takes {sorted(parameters)}.", hint="Take one `arguments` (a subclass of Arguments) and/or `call`."
        )
    return kind


def _result_model(returns: Any, what: str) -> type[BaseModel] | None:
    if isinstance(returns, type) and issubclass(returns, BaseModel):
        return returns
    if returns in (str, None, type(None), ToolResult):
        return None
    raise Misconfigured(f"{what} returns {returns!r}.", hint="Return a pydantic model, str, None or ToolResult.")


def _input_schema(arguments: type[BaseModel] | None) -> dict[str, Any]:
    if arguments is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    schema = arguments.model_json_schema(by_alias=True)
    schema.pop("title", None)
    schema.pop("description", None)
    schema.setdefault("properties", {})
    return schema


def _for_clients_with_tasks(function: Function) -> Function:
    async def called(*, call: Call[Any], **inputs: Any) -> Any:
        if not call.can_defer:
            raise MissingCapability(CAPABILITY)
        return await function(call=call, **inputs)

    return called


def _checked_name(name: str, what: str) -> str:
    if not _NAME.fullmatch(name):
        raise Misconfigured(f"{what}: a name is 1 to 64 of A-Z a-z 0-9 _ . / -.")
    return name


def _checked_text(text: str | None, what: str) -> str:
    if not text:
        raise Misconfigured(f"{what} has no description.", hint="Give it a docstring: it is what the model reads.")
    if len(text) > _MOST_DESCRIPTION or _UNPRINTABLE.search(text):
        raise Misconfigured(f"{what}: the description is over {_MOST_DESCRIPTION} characters or has unprintable ones.")
    return text


def _checked_completers(given: Mapping[str, Completer] | None, known: set[str], what: str) -> Mapping[str, Completer]:
    if stray := set(given or ()) - known:
        raise Misconfigured(f"{what} completes {sorted(stray)}, which it does not take.")
    return dict(given or {})
