"""The story of docs/tutorial.md with the official SDK's client. Runs as a script in the SDK's own environment.

    python story_client.py legacy|modern form|tool http://localhost:8700/mcp NAME PASSWORD

`form`: a user decides in the form that the client shows. `tool`: the client cannot show forms, so the approvals tool
decides. Prints one JSON line for each step: `{"step": name, "saw": value}`. It asserts nothing: the tests do.
"""

import base64
import json
import sys
import warnings
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

MODES = {"legacy": "legacy", "modern": "2026-07-28"}
REASON = "The trunk is hollow."


class Story:
    """One client, and the form it was shown."""

    def __init__(self, mode: str, way: str, url: str, name: str, password: str) -> None:
        token = base64.b64encode(f"{name}:{password}".encode()).decode()
        self.http = create_mcp_http_client(headers={"Authorization": f"Basic {token}"})
        self.form: str | None = None
        self.client = Client(
            streamable_http_client(url, http_client=self.http),
            mode=MODES[mode],
            read_timeout_seconds=60,
            elicitation_callback=self.decide if way == "form" else None,
            client_info=types.Implementation(name="story", version="1"),
        )

    async def decide(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.form = params.message
        return types.ElicitResult(action="accept", content={"decision": "approve", "reason": REASON})

    async def call(self, tool: str, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        if result.is_error:
            raise RuntimeError(f"{tool}: {result.content}")
        return result.structured_content

    async def read(self, uri: str) -> Any:
        return json.loads((await self.client.read_resource(uri)).contents[0].text)

    async def best(self, query: str, kind: str) -> str:
        """The URI of the best hit of a kind."""
        found = await self.call("search", query=query, kinds=[kind])
        return found["groups"][0]["hits"][0]["uri"]


def tell(step: str, saw: object) -> None:
    sys.stdout.write(json.dumps({"step": step, "saw": saw}) + "\n")
    sys.stdout.flush()


async def main(mode: str, way: str, *login: str) -> None:
    story = Story(mode, way, *login)
    async with story.http, story.client:
        tell("version", story.client.protocol_version)
        agent = await story.best("agent that can review a permit", "agent")
        tell("agent", agent)
        tell("record", await story.read(await story.best("agent that can review a permit", "record")))
        card = await story.read(agent)
        tell("card", card)
        references = {
            "permit": await story.best("permit TP-2026-014 chestnut Kirchgasse", "object"),
            "rule": await story.best("how many young trees must the applicant plant", "passage"),
            "figures": "metrics://pentad/default",
        }
        tell("references", references)
        context = {"items": {name: {"ref": uri} for name, uri in references.items()}}
        name = card["url"].rpartition("/")[2]
        task = await story.call("agents_send_task", agent=name, text="Review it.", context=context)
        tell("sent", task)
        if way == "tool":
            [asked] = (await story.call("agents_approvals"))["approvals"]
            tell("approval", asked)
            await story.call("agents_approvals", approval_id=asked["id"], decision="approve", reason=REASON)
            task = await story.call("agents_get_task", task_id=task["task_id"], seconds=30)
        tell("form", story.form)
        tell("done", task)
        uri = task["text"].rpartition(" ")[2]
        tell("decision", await story.read(uri))
        place = {"register": "tree-permits", "schema": "decision", "id": uri.rpartition("/")[2]}
        tell("history", await story.call("objects", action="history", **place))
        tell("lineage", await story.call("lineage", uri=uri))
        tell("trace", await story.read(f"{task['resource']}/trace"))
        tell("metric", await story.call("getPlatformMetricByKey", collector="pentad", metricKey="tools.calls"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    anyio.run(main, *sys.argv[1:])
