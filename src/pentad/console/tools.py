"""The pages of tools, prompts and resources (`/console/tools`): a form for each, and the result.

Opening a page runs nothing: a URL with arguments fills in the form. A call goes through the internal client, with the
visitor's rights, like a call from outside.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import quote

import msgspec

from pentad.app import App
from pentad.console.admin_page import TOOLS, AdminPage
from pentad.console.home import reader_program
from pentad.console.snippets import snippet_tabs
from pentad.kernel.errors import InvalidInput, NotFound, without_secrets
from pentad.kernel.names import did_you_mean
from pentad.kernel.page_values import value_blocks
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Code,
    Column,
    Facts,
    Form,
    Hidden,
    Image,
    Links,
    Note,
    Place,
    Prose,
    SearchBox,
    Section,
    Sheet,
    Tab,
    Table,
    Tabs,
    Text,
    TextField,
    Tree,
    Visit,
)
from pentad.kernel.schema_forms import MISSING, read_form, schema_form
from pentad.mcp.confirmations import ARGUMENT
from pentad.mcp.content import Contents
from pentad.mcp.declarations import Prompt, Resource, Tool
from pentad.mcp.registry import Bound, BoundTool, Registry
from pentad.mcp.tool_search import first_paragraph
from pentad.mcp.wire_errors import error_from_result

_TOOL: Final = "tool"
_PROMPT: Final = "prompt"
_RESOURCE: Final = "resource"
_LONGEST_LINK: Final = 4_000
_NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}


class ToolPages:
    """The pages of one server."""

    def __init__(self, app: App) -> None:
        self._app = app

    def pages(self) -> list[AdminPage]:
        """Every page."""
        return [
            AdminPage(TOOLS, "", self.overview),
            AdminPage(TOOLS, f"{_TOOL}/{{name:path}}", self.tool),
            AdminPage(TOOLS, f"{_PROMPT}/{{name:path}}", self.prompt),
            AdminPage(TOOLS, _RESOURCE, self.resource),
        ]

    @property
    def _registry(self) -> Registry:
        return self._app.internal_server.registry

    async def overview(self, visit: Visit) -> Sheet:
        """All tools, prompts and resources that the visitor may use."""
        words = visit.asked().lower()
        rooms = {opened.room.name: opened.room.title for opened in self._app.rooms}
        tools = [one for one in self._tools(visit) if _matches(words, one.declared.name, one.declared.description)]
        blocks: list[Block] = [SearchBox("Find a tool by name or what it does", visit.asked())]
        for room in dict.fromkeys(one.room for one in tools):
            rows = [_tool_row(one.declared) for one in tools if one.room == room]
            blocks.append(Section(rooms.get(room, "All rooms"), [Table(_COLUMNS, rows)]))
        prompts = [
            (Cell(name, _place(_PROMPT, name)), one.declared.title or "", first_paragraph(one.declared.description))
            for name, one in self._registry.prompts.items()
            if visit.principal.may(one.room, "read") and _matches(words, name, one.declared.description)
        ]
        if prompts:
            blocks.append(Section("Prompts", [Table(("Prompt", "Title", "What it asks for"), prompts)]))
        resources = [
            (
                Cell(one.uri, Place((_RESOURCE,), {"uri": one.uri})),
                one.mime_type or "",
                first_paragraph(one.description),
            )
            for one in self._resources(visit)
            if _matches(words, one.uri, one.description)
        ]
        if resources:
            columns = ("Resource", Column("Type", short=True), "What it is")
            blocks.append(Section("Resources", [Table(columns, resources)]))
        if len(blocks) == 1:
            nothing = (
                "Nothing matches. Try fewer words." if words else "Your rights allow no tool. Ask an administrator."
            )
            blocks.append(Note(nothing))
        return Sheet("Tools", blocks, lead="What agents can do here, for you to try. Calls run with your rights.")

    # Tools

    async def tool(self, visit: Visit) -> Sheet:
        """A tool with its form."""
        bound = self._tool(visit)
        return self._tool_sheet(visit, bound, self._arguments(visit, bound.declared.input_schema), [])

    async def call(self, visit: Visit) -> Sheet:
        """Handle the form of a tool: call it."""
        bound = self._tool(visit)
        tool, token = bound.declared, visit.typed(ARGUMENT)
        arguments = read_form(tool.input_schema, visit.fields)
        confirmed = {ARGUMENT: token} if token else {}
        started = time.perf_counter()
        result = await self._app.console_client.call_tool(visit.principal, tool.name, {**arguments, **confirmed})
        seconds = time.perf_counter() - started
        return self._tool_sheet(visit, bound, arguments, self._outcome(visit, tool, result, seconds))

    def _outcome(self, visit: Visit, tool: Tool, result: Mapping[str, Any], seconds: float) -> list[Block]:
        blocks: list[Block] = []
        if result.get("isError"):
            error = error_from_result(result)
            if error.details.get("problems") or error.details.get(ARGUMENT):
                raise error
            blocks.append(Note("The tool failed.", "bad"))
        data = result.get("structuredContent")
        shown = _content(result.get("content") or [], data)
        tabs = [
            Tab("result", "Result", shown or [Note("The tool returned nothing.")]),
            *([Tab("data", "Data", [Tree(data)])] if data is not None else []),
            Tab("raw", "Raw", [Code(_pretty(result), copy=True)]),
        ]
        facts = Facts(
            [("Took", f"{seconds * 1000:,.1f} ms"), ("Link", _shared(_place(_TOOL, tool.name), visit.fields))]
        )
        return [Section("Result", [*blocks, Tabs(tabs), facts])]

    def _tool_sheet(self, visit: Visit, bound: BoundTool, arguments: Any, outcome: Sequence[Block]) -> Sheet:
        tool = bound.declared
        form = schema_form(tool.input_schema, visit, [Button(f"Run {tool.name}")], _path(_TOOL, tool.name), arguments)
        given = {} if arguments is MISSING else cast("dict[str, Any]", arguments)
        facts = Facts(
            [
                ("Room", bound.room),
                ("Needs", f"{bound.room}:{tool.action}" if bound.room else ""),
                ("Effect", _effect(tool)),
                ("Asks first", "yes" if bound.confirm is not None else ""),
            ]
        )
        url = self._app.settings.url("/mcp")
        copies = snippet_tabs("tools/call", tool.name, given, url=url, program=reader_program(self._app.settings))
        blocks = [
            *outcome,
            Section("Arguments", [form]),
            Section("Copy as", [copies], folded=not outcome),
            Section("About", [Prose(tool.description), facts], folded=True),
            Section("Schema", [Code(_pretty(tool.input_schema), copy=True)], folded=True),
        ]
        return Sheet(tool.title or tool.name, blocks, lead=first_paragraph(tool.description))

    # Prompts

    async def prompt(self, visit: Visit) -> Sheet:
        """A prompt with its form."""
        prompt = self._prompt(visit).declared
        return self._prompt_sheet(visit, prompt, self._arguments(visit, _prompt_schema(prompt)), [])

    async def get_prompt(self, visit: Visit) -> Sheet:
        """Handle the form of a prompt: get its messages."""
        prompt = self._prompt(visit).declared
        arguments = read_form(_prompt_schema(prompt), visit.fields)
        found = await self._app.console_client.get_prompt(visit.principal, prompt.name, arguments)
        blocks: list[Block] = []
        for message in found["messages"]:
            blocks += [Note(f"As {message['role']}:"), *_content([message["content"]], None)]
        link = Links([_shared(_place(_PROMPT, prompt.name), visit.fields)])
        result = Section("Result", [*blocks, link, Section("Raw", [Code(_pretty(found), copy=True)], folded=True)])
        return self._prompt_sheet(visit, prompt, arguments, [result])

    def _prompt_sheet(self, visit: Visit, prompt: Prompt, arguments: Any, outcome: Sequence[Block]) -> Sheet:
        path = _path(_PROMPT, prompt.name)
        form = schema_form(_prompt_schema(prompt), visit, [Button("Show the prompt")], path, arguments)
        given = {} if arguments is MISSING else cast("dict[str, Any]", arguments)
        url = self._app.settings.url("/mcp")
        copies = snippet_tabs("prompts/get", prompt.name, given, url=url, program=reader_program(self._app.settings))
        blocks = [*outcome, Section("Arguments", [form]), Section("Copy as", [copies], folded=not outcome)]
        return Sheet(prompt.title or prompt.name, blocks, lead=first_paragraph(prompt.description))

    # Resources

    async def resource(self, visit: Visit) -> Sheet:
        """A resource with its contents, or the form for the variables of a template."""
        uri = visit.asked("uri")
        template = next((one for one in self._resources(visit) if one.uri == uri and one.template is not None), None)
        if template is not None:
            return self._template_sheet(visit, template)
        if not uri:
            raise InvalidInput("There is no URI.", hint="Pick a resource from the list of tools.")
        started = time.perf_counter()
        contents = await self._app.console_client.read(visit.principal, uri)
        took = f"{(time.perf_counter() - started) * 1000:,.1f} ms"
        url = self._app.settings.url("/mcp")
        copies = snippet_tabs("resources/read", uri, {}, url=url, program=reader_program(self._app.settings))
        blocks = [block for one in contents for block in _resource_blocks(one)]
        types = ", ".join(one.mime_type or "unknown" for one in contents)
        facts = Facts([("URI", uri), ("Type", types), ("Took", took)])
        return Sheet("Resource", [facts, *blocks, Section("Copy as", [copies], folded=True)], lead=uri)

    def _template_sheet(self, visit: Visit, resource: Resource) -> Sheet:
        """The form for a template's variables. It is a query, because reading changes nothing."""
        names = () if resource.template is None else resource.template.variables
        filled = {name: visit.asked(name) for name in names}
        if names and all(filled.values()):
            uri = resource.uri
            for name, value in filled.items():
                uri = uri.replace(f"{{{name}}}", quote(value, safe="")).replace(f"{{+{name}}}", value)
                uri = uri.replace(f"{{{name}*}}", value)
            found = Links([Cell(uri, Place((_RESOURCE,), {"uri": uri}))])
            blocks: list[Block] = [Section("The resource", [found])]
        else:
            blocks = []
        fields = [TextField(name, name, filled[name]) for name in names]
        form = Form([Hidden("uri", resource.uri), *fields], [Button("Find")], f"/console/{TOOLS}/{_RESOURCE}", "get")
        return Sheet(resource.title or resource.name, [Code(resource.uri), form, *blocks], lead=resource.description)

    # Lists

    def _tools(self, visit: Visit) -> list[BoundTool]:
        known = {id(one): one for one in self._registry.tools.values()}
        return [one for one in known.values() if visit.principal.may(one.room, one.declared.action)]

    def _resources(self, visit: Visit) -> list[Resource]:
        bound = [*self._registry.resources.values(), *self._registry.templates]
        return [one.declared for one in bound if visit.principal.may(one.room, "read")]

    def _tool(self, visit: Visit) -> BoundTool:
        name = str(visit.path["name"])
        found = self._registry.tools.get(name)
        if found is None or not visit.principal.may(found.room, found.declared.action):
            known = [one.declared.name for one in self._tools(visit)]
            hint = did_you_mean(name, known) or "Pick one from the list of tools."
            raise NotFound(f"You have no tool {name[:100]!r}.", hint=hint)
        return found

    def _prompt(self, visit: Visit) -> Bound[Prompt]:
        name = str(visit.path["name"])
        found = self._registry.prompts.get(name)
        if found is None or not visit.principal.may(found.room, "read"):
            raise NotFound(f"You have no prompt {name[:100]!r}.", hint="Pick one from the list of tools.")
        return found

    def _arguments(self, visit: Visit, schema: Mapping[str, Any]) -> Any:
        """The arguments in the URL, if there are any."""
        return read_form(schema, visit.query) if any(name.startswith("/") for name in visit.query) else MISSING


_COLUMNS: Final = ("Tool", "What it does", Column("Effect", short=True))


def _tool_row(tool: Tool) -> tuple[Text, ...]:
    effect = "" if tool.hints.get("readOnlyHint") else "destructive" if tool.hints.get("destructiveHint") else "writes"
    return (Cell(tool.name, _place(_TOOL, tool.name)), first_paragraph(tool.description), effect)


def _effect(tool: Tool) -> str:
    if tool.hints.get("readOnlyHint"):
        return "changes nothing"
    return "may delete or overwrite" if tool.hints.get("destructiveHint") else "adds"


def _prompt_schema(prompt: Prompt) -> dict[str, Any]:
    """The schema of a prompt's arguments, which are all texts."""
    if prompt.arguments is None:
        return _NO_ARGUMENTS
    listed = cast("list[dict[str, Any]]", prompt.listing()["arguments"])
    properties = {one["name"]: {"type": "string", "description": one["description"]} for one in listed}
    return {"type": "object", "properties": properties, "required": [one["name"] for one in listed if one["required"]]}


def _content(content: Sequence[Mapping[str, Any]], data: Any) -> list[Block]:
    """The content of a result as blocks. Text that only repeats the structured data is shown as structured data."""
    blocks: list[Block] = []
    for one in content:
        kind, text = one.get("type"), str(one.get("text") or "")
        if kind == "text":
            value = _parsed(text)
            repeats = isinstance(value, dict | list) and (data is None or value == data)
            blocks += value_blocks(value) if repeats else [Prose(text)]
        elif kind == "image":
            media_type = str(one.get("mimeType"))
            blocks.append(Image(str(one.get("data")), media_type, f"A picture of the type {media_type}."))
        elif kind == "resource_link":
            uri = str(one.get("uri"))
            blocks.append(Links([Cell(str(one.get("title") or one.get("name") or uri), _resource_place(uri))]))
        elif kind == "resource":
            blocks += _resource_blocks(msgspec.convert(one.get("resource"), Contents))
        else:
            blocks.append(Note(f"Content of the type {kind}, which pages do not show. See the raw result."))
    return blocks or (value_blocks(data) if data is not None else [])


def _resource_blocks(one: Contents) -> list[Block]:
    if one.blob is not None:
        return [Image(one.blob, one.mime_type or "", f"{one.uri}: {len(one.blob) * 3 // 4:,} bytes, not shown here.")]
    value = _parsed(one.text or "") if "json" in (one.mime_type or "") else None
    if isinstance(value, dict | list):
        raw = Section("Raw", [Code(one.text or "", copy=True)], folded=True)
        return [*value_blocks(value), raw]
    return [Prose(one.text or "") if one.mime_type in ("text/plain", "text/markdown", None) else Code(one.text or "")]


def _shared(place: Place, fields: Mapping[str, str]) -> Cell:
    """A link that fills in the form as it was sent, except for values that look like secrets."""
    given = {name: text for name, text in fields.items() if name.startswith("/") and text}
    shareable = {name: text for name, text in given.items() if not _is_secret(name, text)}
    if sum(len(name) + len(text) for name, text in shareable.items()) > _LONGEST_LINK:
        return Cell("The arguments are too long for a link.")
    text = "this call" if shareable == given else "this call, without its secrets"
    return Cell(f"Link to {text}", Place(place.parts, shareable, place.room))


def _is_secret(name: str, text: str) -> bool:
    last = name.rpartition("/")[2]
    return without_secrets({last: text}) != {last: text} or without_secrets(text) != text


def _place(kind: str, name: str) -> Place:
    return Place((kind, *name.split("/")), room=TOOLS)


def _resource_place(uri: str) -> Place:
    return Place((_RESOURCE,), {"uri": uri}, TOOLS)


def _path(kind: str, name: str) -> str:
    return f"/console/{TOOLS}/{kind}/{name}"


def _matches(words: str, *texts: str) -> bool:
    whole = " ".join(texts).lower()
    return all(word in whole for word in words.split())


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
