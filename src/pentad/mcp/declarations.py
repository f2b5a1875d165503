"""Declarations: a typed async function becomes a tool, a resource or a prompt.

    class Greeting(Arguments):
        name: str = Field(description="Whom to greet.")

    @tool("greet", read_only=True)
    async def greet(arguments: Greeting, call: Call[Service]) -> str:
        "Greets someone by name."
        return f"Hello, {arguments.name}!"

A declaration is checked when its module is imported: a bad name, a missing description or a wrong signature fails
there, not at the first call.
"""

import inspect
import re
import typing
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote

from msgspec import Struct
from pydantic import BaseModel
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import Action
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.client_requests import MissingCapability
from pentad.mcp.compact_schema import compact_input, compact_output, without_properties
from pentad.mcp.content import Annotations, Content, Contents, Icon, Message
from pentad.mcp.header_params import HeaderParam, header_params
from pentad.mcp.tasks import CAPABILITY, TaskSupport

if TYPE_CHECKING:
    from pentad.mcp.app_views import AppView

_NAME: Final = re.compile(r"[A-Za-z0-9_./-]{1,64}")
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_VARIABLE: Final = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)(\*?)\}")
_MOST_DESCRIPTION: Final = 4000
_DEFAULT_HINTS: Final = {("idempotentHint", False), ("openWorldHint", True), ("destructiveHint", True)}
"""The protocol's defaults for missing hints."""

Function = Callable[..., Coroutine[Any, Any, Any]]
Completer = Callable[[str, Call[Any], Mapping[str, str]], Coroutine[Any, Any, Sequence[str]]]
"""Receives the text typed so far, the call and the other arguments; returns matching values."""

Listed = Literal["everywhere", "room"]
"""Where `tools/list` includes a tool: everywhere, or only where its room is served alone and in profiles that name
it."""

ActionsOf = Callable[[Mapping[str, Any]], Collection[str]]
"""The actions that a call with these arguments carries out, for rules that name actions (`objects:delete`)."""


def _named_action(arguments: Mapping[str, Any]) -> Collection[str]:
    action = arguments.get("action")
    return (action,) if isinstance(action, str) else ()


class UriTemplate(Struct, frozen=True):
    """A compiled URI template: the `{name}` form of RFC 6570 level 1, matched in linear time.

    A variable matches one or more characters without `/`; `{+name}` and a trailing `{name*}` also match slashes. A
    variable ends at the first occurrence of the text that follows it, so that text must be percent-encoded inside a
    value. Values are percent-decoded once.
    """

    text: str
    variables: tuple[str, ...]
    pattern: re.Pattern[str]

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a matching URI, None for any other."""
        found = self.pattern.fullmatch(uri)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}


class ToolResult(Struct, frozen=True):
    """A result that a tool composes itself. `structured` is a model or plain JSON; it becomes the text if there is no
    `content`.

    `literal` replaces the whole result object, for results that other specifications define differently.
    """

    content: Sequence[Content] | None = None
    structured: Any = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None
    literal: Mapping[str, Any] | None = None


class Tool(Struct, frozen=True, dict=True):
    """A declared tool. Its schemas are made when they are first listed: making all of them would slow every start."""

    name: str
    description: str
    function: Function
    arguments: type[BaseModel] | None
    takes_call: bool
    result: type[BaseModel] | None
    exact_input: Mapping[str, Any] | None
    exact_output: Mapping[str, Any] | type[BaseModel] | None
    title: str | None
    action: Action
    hints: Mapping[str, bool]
    icons: Sequence[Icon]
    seconds: float | None
    heavy: bool
    omit_none: bool
    aliases: Sequence[str]
    meta: Mapping[str, Any] | None
    task: TaskSupport | None
    tags: frozenset[str]
    listed: Listed
    read_schema: Mapping[str, Any] | None
    """The input schema on read-only endpoints, for a tool that otherwise reads and writes."""
    rare: frozenset[str]
    """Arguments shown only in detailed lists. They are accepted everywhere."""
    actions_of: ActionsOf
    stands_for: str | None = None
    """The action of another tool that this one performs (`objects:create`). Rules about that action apply to this
    tool."""
    view: "AppView | None" = None
    """How MCP Apps hosts can show its results."""

    @cached_property
    def input_schema(self) -> Mapping[str, Any]:
        """The listed schema of its arguments."""
        return self.exact_input if self.exact_input is not None else input_schema_of(self.arguments)

    @cached_property
    def output_schema(self) -> Mapping[str, Any] | None:
        """The listed schema of its result."""
        if isinstance(self.exact_output, type):
            return compact_output(self.exact_output.model_json_schema(by_alias=True, mode="serialization"))
        if self.exact_output is None and self.result is not None:
            return compact_output(self.result.model_json_schema(by_alias=True))
        return self.exact_output

    @cached_property
    def headers(self) -> Sequence[HeaderParam]:
        """The arguments that are repeated in HTTP headers."""
        return header_params(self.input_schema, f"tool {self.name!r}")

    def writes(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call needs the right to write, judging by its actions, for a tool that reads and writes."""
        if self.action != "read" or self.read_schema is None:
            return False
        reading: Sequence[str] = self.read_schema["properties"].get("action", {}).get("enum") or ()
        return bool(reading) and not set(self.actions_of(arguments)) <= set(reading)

    def listing(self, *, detailed: bool = True, read_only: bool = False) -> dict[str, Any]:
        """The tool's entry in the newest revision; older ones get fewer members. `read_only` is for endpoints where
        nothing can be changed. Output schemas, icons, rare arguments and hints that only repeat the protocol's default
        are details."""
        schema = self.read_schema if read_only and self.read_schema is not None else self.input_schema
        if self.rare and not detailed:
            short = without_properties(schema, self.rare)
            schema = {name: value for name, value in short.items() if name != "additionalProperties"}
        entry: dict[str, Any] = {"name": self.name, "description": self.description, "inputSchema": schema}
        if self.title:
            entry["title"] = self.title
        if detailed and self.output_schema:
            entry["outputSchema"] = self.output_schema
        open_world = {"openWorldHint": self.hints["openWorldHint"]}
        entry["annotations"] = {"readOnlyHint": True, **open_world} if read_only else dict(self.hints)
        if not detailed:
            entry["annotations"] = {
                name: hint for name, hint in entry["annotations"].items() if (name, hint) not in _DEFAULT_HINTS
            }
        if detailed and self.icons:
            entry["icons"] = list(self.icons)
        if self.meta:
            entry["_meta"] = dict(self.meta)
        return entry


class Resource(Struct, frozen=True):
    """A declared resource: one URI, or a template for many."""

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
    meta: Mapping[str, Any] | None = None
    """`_meta` in the list and with the contents."""

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
        if self.meta:
            entry["_meta"] = dict(self.meta)
        return entry


class Prompt(Struct, frozen=True):
    """A declared prompt. The protocol allows only strings as its arguments."""

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
                {"name": info.alias or name, "description": info.description or "", "required": _is_required(info)}
                for name, info in self.arguments.model_fields.items()
            ]
        if self.icons:
            entry["icons"] = list(self.icons)
        return entry


class ResourcePage(Struct, frozen=True):
    """A page of resources that a room lists at run time: entries (`uri`, `name`, ...) and the next cursor."""

    entries: Sequence[Mapping[str, Any]]
    cursor: str | None = None


ResourceListing = Callable[[Call[Any], str | None], Coroutine[Any, Any, ResourcePage]]


ASKED_FOR: Final[JsonDict] = {"asked_for": True}
"""For a field's `json_schema_extra`: the prompt lists the argument as required, but also works with the default."""


def _is_required(info: FieldInfo) -> bool:
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
    output_schema: Mapping[str, Any] | type[BaseModel] | None = None,
    icons: Sequence[Icon] = (),
    seconds: float | None = None,
    heavy: bool = False,
    omit_none: bool = True,
    aliases: Sequence[str] = (),
    meta: Mapping[str, Any] | None = None,
    task: TaskSupport | None = None,
    tags: Collection[str] = (),
    listed: Listed = "everywhere",
    rare: Collection[str] = (),
    read_schema: Mapping[str, Any] | None = None,
    actions_of: ActionsOf = _named_action,
    stands_for: str | None = None,
    view: "AppView | None" = None,
) -> Callable[[Function], Tool]:
    """Declare a tool.

    `action` (read, write, admin) is the right the caller needs; the default follows from `read_only`. `input_schema`
    replaces the listed schema if an exact one is promised; the model still validates. A tool that returns a ToolResult
    says with `output_schema` what is in it: a schema, or the model that makes it. With `task`, the tool may defer
    its answer (`call.defer`); if it is `required`, clients without tasks are refused.

    Lists are paid for in every conversation: `listed="room"` keeps a seldom-used tool off lists of several rooms, and
    `rare` names arguments that only detailed lists have. Profiles select tools by `tags`. A tool with action
    `read` that also writes, after checking the right itself, says with `read_schema` what it takes without that right.
    Hosts of MCP Apps show its results with `view`.
    """

    def declare(function: Function) -> Tool:
        what = f"tool {name!r}"
        parameters, returns, takes_call = _signature(function, what)
        arguments = _arguments_model(parameters, what)
        result = _result_model(returns, what)
        if task is not None and not takes_call:
            raise Misconfigured(f"{what} declares `task` but cannot defer its answer.", hint="Take `call`.")
        if input_schema is not None:
            header_params(input_schema, what)  # a wrong one fails here
        hints = {"readOnlyHint": read_only, "openWorldHint": open_world}
        if not read_only:
            hints["destructiveHint"] = True if destructive is None else destructive
            hints["idempotentHint"] = bool(idempotent)
        return Tool(
            name=_checked_name(name, what),
            description=_checked_text(description or inspect.getdoc(function), what),
            function=_require_tasks(function) if task == "required" else function,
            arguments=arguments,
            takes_call=takes_call,
            result=result,
            exact_input=input_schema,
            exact_output=output_schema,
            title=title,
            action=action or ("read" if read_only else "write"),
            hints=hints,
            icons=tuple(icons),
            seconds=seconds,
            heavy=heavy,
            omit_none=omit_none,
            aliases=tuple(_checked_name(alias, what) for alias in aliases),
            meta=meta,
            task=task,
            tags=frozenset(tags),
            listed=listed,
            read_schema=read_schema,
            rare=frozenset(rare),
            actions_of=actions_of,
            stands_for=stands_for,
            view=view,
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
    """Declare a resource. A URI with `{variables}` is a template; the function takes the variables by name."""

    def declare(function: Function) -> Resource:
        what = f"resource {uri!r}"
        if ":" not in uri or _UNPRINTABLE.search(uri):
            raise Misconfigured(f"{what} has no scheme, or unprintable characters.", hint="Write it as scheme://path.")
        parameters, _, takes_call = _signature(function, what)
        template = compile_template(uri) if "{" in uri else None
        variables = set(template.variables) if template else set[str]()
        if set(parameters) != variables:
            raise Misconfigured(f"{what} takes {sorted(parameters)}, but its URI has {sorted(variables)}.")
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
            completers=_checked_completers(complete, variables, what),
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


def compile_template(text: str) -> UriTemplate:
    """Compile a template. Raises Misconfigured if it is invalid."""
    variables = list(_VARIABLE.finditer(text))
    names = tuple(variable.group(2) for variable in variables)
    starts = [*(variable.start() for variable in variables), len(text)]
    head = text[: starts[0]]
    literals = [text[variable.end() : start] for variable, start in zip(variables, starts[1:], strict=True)]
    if any("{" in literal or "}" in literal for literal in (head, *literals)):
        raise Misconfigured(f"URI template {text!r} has an unmatched brace.", hint="Write variables as {name}.")
    if "" in literals[:-1]:
        raise Misconfigured(f"URI template {text!r}: two variables are adjacent.", hint="Put text between them.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise Misconfigured(f"URI template {text!r}: variable {twice[0]!r} appears twice.", hint="Rename one of them.")
    parts = [re.escape(head)]
    for variable, literal in zip(variables, literals, strict=True):
        slashes, name, rest = variable.groups()
        kind = "." if slashes or rest else "[^/]"
        if variable is variables[-1]:
            parts.append(f"(?P<{name}>{kind}+){re.escape(literal)}")
        else:  # an atomic group never backtracks; otherwise a hostile URI could take exponential time
            parts.append(f"(?>(?P<{name}>{kind}+?){re.escape(literal)})")
    return UriTemplate(text, names, re.compile("".join(parts), re.DOTALL))


def _signature(function: Callable[..., Any], what: str) -> tuple[dict[str, Any], Any, bool]:
    """The annotated parameters except `call`, the annotated return, and whether the function takes `call`."""
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
        raise Misconfigured(f"{what} has no return type.", hint="Annotate the return.")
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


def input_schema_of(arguments: type[BaseModel] | None) -> dict[str, Any]:
    """The listed schema of a tool's arguments."""
    if arguments is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    schema = arguments.model_json_schema(by_alias=True)
    schema.pop("description", None)
    return compact_input({"properties": {}, **schema})


def _require_tasks(function: Function) -> Function:
    async def checked(*, call: Call[Any], **inputs: Any) -> Any:
        if not call.can_defer:
            raise MissingCapability(CAPABILITY)
        return await function(call=call, **inputs)

    return checked


def _checked_name(name: str, what: str) -> str:
    if not _NAME.fullmatch(name):
        raise Misconfigured(f"{what}: a name is 1 to 64 of A-Z a-z 0-9 _ . / -.")
    return name


def _checked_text(text: str | None, what: str) -> str:
    if not text:
        raise Misconfigured(f"{what} has no description.", hint="Add a docstring: models read it.")
    if len(text) > _MOST_DESCRIPTION or _UNPRINTABLE.search(text):
        raise Misconfigured(f"{what}: the description is over {_MOST_DESCRIPTION} characters or has unprintable ones.")
    return text


def _checked_completers(given: Mapping[str, Completer] | None, known: set[str], what: str) -> Mapping[str, Completer]:
    if unknown := set(given or ()) - known:
        raise Misconfigured(f"{what} has completers for {sorted(unknown)}, which it does not take.")
    return dict(given or {})
