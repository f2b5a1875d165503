"""A tour through Pentad with the official SDK's client. Runs as a script in the SDK's own environment.

    python sdk_client.py legacy|modern|auto http://localhost:8700/mcp
    python sdk_client.py legacy|modern|auto COMMAND ARGUMENT...

Prints one JSON line for each stop of the tour: `{"stop": name, "saw": value}`, or `"failed"` with the reason. It
asserts nothing: the tests do.
"""

import json
import os
import sys
import traceback
import warnings

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}
WATCHED = "test://watched-resource"


class Tour:
    """The client's own state."""

    def __init__(self, mode: str, target: list[str]) -> None:
        self.mode = mode
        self.logs: list[object] = []
        self.updated = anyio.Event()
        server: object = target[0]
        if not target[0].startswith("http"):
            server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
        self.client = Client(
            server,
            mode=MODES[mode],
            read_timeout_seconds=20,
            sampling_callback=self.sample,
            elicitation_callback=self.elicit,
            list_roots_callback=self.roots,
            logging_callback=self.log,
            message_handler=self.hear,
            log_level="debug",
            client_info=types.Implementation(name="interop", version="1"),
        )

    async def sample(self, context: object, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        asked = params.messages[0].content
        text = f"sampled({getattr(asked, 'text', '?')})"
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text=text), model="m", stop_reason="endTurn"
        )

    async def elicit(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        answers = {"string": "Ada", "integer": 7, "number": 1.5, "boolean": True}
        fields = params.requested_schema["properties"]
        content = {name: answers[field["type"]] for name, field in fields.items() if field.get("type") in answers}
        return types.ElicitResult(action="accept", content=content)

    async def roots(self, context: object) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada", name="home")])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append(params.data)

    async def hear(self, message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification) and str(message.params.uri) == WATCHED:
            self.updated.set()

    async def text(self, name: str, arguments: dict[str, object] | None = None) -> str:
        result = await self.client.call_tool(name, arguments or {})
        return " ".join(block.text for block in result.content if block.type == "text")

    async def info(self) -> object:
        capabilities = self.client.server_capabilities.model_dump(exclude_none=True)
        name = self.client.server_info.name if self.client.server_info else None
        return {"version": self.client.protocol_version, "name": name, "capabilities": sorted(capabilities)}

    async def tools(self) -> object:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def prompts(self) -> object:
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def templates(self) -> object:
        return [one.uri_template for one in (await self.client.list_resource_templates()).resource_templates]

    async def resources(self) -> object:
        page = await self.client.list_resources()
        uris = [str(one.uri) for one in page.resources]
        while page.next_cursor:
            page = await self.client.list_resources(cursor=page.next_cursor)
            uris += [str(one.uri) for one in page.resources]
        return uris

    async def kinds(self) -> object:
        names = ("test_simple_text", "test_image_content", "test_audio_content", "test_multiple_content_types")
        return {name: [b.type for b in (await self.client.call_tool(name, {})).content] for name in names}

    async def structured(self) -> object:
        return (await self.client.call_tool("test_echo", {"text": "h\u00e9llo"})).structured_content

    async def failure(self) -> object:
        return (await self.client.call_tool("test_error_handling", {})).is_error

    async def unknown_tool(self) -> object:
        try:
            await self.client.call_tool("test_no_such_tool", {})
        except MCPError as error:
            return error.code
        return None

    async def header(self) -> object:
        return await self.text("test_custom_headers", {"region": "Gr\u00fc\u00dfe", "retries": 3, "dry": True})

    async def progress(self) -> object:
        seen: list[object] = []

        async def report(done: float, total: float | None, message: str | None) -> None:
            seen.append([done, total, message])

        await self.client.call_tool("test_tool_with_progress", {}, progress_callback=report)
        return seen

    async def cancel(self) -> object:
        key = f"{self.mode}-{os.getpid()}"
        started = anyio.Event()

        async def report(done: float, total: float | None, message: str | None) -> None:
            started.set()

        async with anyio.create_task_group() as group:

            async def hold() -> None:
                await self.client.call_tool("test_hold", {"key": key}, progress_callback=report)

            group.start_soon(hold)
            with anyio.fail_after(10):
                await started.wait()
            group.cancel_scope.cancel()
        return await self.text("test_held", {"key": key})

    async def elicitation(self) -> object:
        return await self.text("test_elicitation", {"message": "Who?"})

    async def sampling(self) -> object:
        return await self.text("test_sampling", {"prompt": "Say it"})

    async def roots_asked(self) -> object:
        return await self.text("test_input_required_result_list_roots")

    async def rounds(self) -> object:
        return await self.text("test_input_required_result_multi_round")

    async def state(self) -> object:
        return await self.text("test_input_required_result_request_state")

    async def read(self) -> object:
        found = {}
        for uri in ("test://static-text", "test://static-binary", "test://template/123/data", "test://asking/it"):
            contents = (await self.client.read_resource(uri)).contents[0]
            found[uri] = getattr(contents, "text", None) or f"blob of {len(contents.blob)}"
        return found

    async def read_unknown(self) -> object:
        try:
            await self.client.read_resource("test://nowhere")
        except MCPError as error:
            return error.code
        return None

    async def subscribe(self) -> object:
        if self.mode == "legacy":
            await self.client.subscribe_resource(WATCHED)
            with anyio.fail_after(10):
                while not self.updated.is_set():  # the client opens its listening stream at any time
                    await self.text("test_trigger_resource_update")
                    with anyio.move_on_after(0.2):
                        await self.updated.wait()
            await self.client.unsubscribe_resource(WATCHED)
            return "updated"
        async with self.client.listen(tools_list_changed=True, resource_subscriptions=[WATCHED]) as events:
            seen = set()
            await self.text("test_trigger_resource_update")
            await self.text("test_trigger_tool_change")
            with anyio.fail_after(10):
                async for event in events:
                    seen.add(type(event).__name__)
                    if len(seen) == 2:
                        break
        return sorted(seen)

    async def prompt(self) -> object:
        given = await self.client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
        asked = await self.client.get_prompt("test_input_required_result_prompt")
        return [given.messages[0].content.text, asked.messages[0].content.text]

    async def completion(self) -> object:
        by_prompt = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        by_template = types.ResourceTemplateReference(type="ref/resource", uri="test://template/{id}/data")
        first = await self.client.complete(by_prompt, {"name": "arg1", "value": "par"})
        second = await self.client.complete(by_template, {"name": "id", "value": "12"})
        return [first.completion.values, second.completion.values]

    async def logging(self) -> object:
        if self.mode == "legacy":
            await self.client.set_logging_level("debug")
        self.logs.clear()
        await self.text("test_tool_with_logging")
        return self.logs

    async def big(self) -> object:
        return len(await self.text("test_big_result", {"characters": 900_000}))

    async def concurrent(self) -> object:
        found: dict[str, str] = {}

        async def one(key: str, name: str, arguments: dict[str, object]) -> None:
            found[key] = await self.text(name, arguments)

        async with anyio.create_task_group() as group:
            group.start_soon(one, "slow", "test_tool_with_progress", {})
            group.start_soon(one, "quick", "test_add", {"a": 40, "b": 2})
        return found["quick"], "slow" in found


STOPS = [
    "info", "tools", "prompts", "templates", "resources", "kinds", "structured", "failure", "unknown_tool", "header",
    "progress", "cancel", "elicitation", "sampling", "roots_asked", "rounds", "state", "read", "read_unknown",
    "subscribe", "prompt", "completion", "logging", "big", "concurrent",
]  # fmt: skip


async def main(mode: str, target: list[str]) -> None:
    tour = Tour(mode, target)
    async with tour.client:
        for stop in STOPS:
            try:
                with anyio.fail_after(30):
                    line = {"stop": stop, "saw": await getattr(tour, stop)()}
            except Exception as error:  # noqa: BLE001  whatever went wrong at a stop is that stop's report
                traceback.print_exc()
                line = {"stop": stop, "failed": f"{type(error).__name__}: {error}"}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    anyio.run(main, sys.argv[1], sys.argv[2:])
