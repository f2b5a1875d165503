"""The official SDK's client of the old transport, with the metrics room. Runs in the SDK's own environment.

    python metrics_client.py http://localhost:8700/sse

Prints one JSON object: its results. It asserts nothing: the tests do.
"""

import json
import sys

import anyio
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client


async def look(url: str) -> dict[str, object]:
    async with sse_client(url) as (read, write), ClientSession(read, write) as session:
        begun = await session.initialize()
        server = begun.server_info if hasattr(begun, "server_info") else begun.serverInfo  # 2.x and 1.x
        tools = await session.list_tools()
        asked = {"collectorId": "host", "metricKey": "memory.total"}
        figures = await session.call_tool("getPlatformMetricsByKey", asked)
        refused = await session.call_tool("getPlatformMetricsByCollector", {"collector": "hsot"})
        return {
            "server": server.name,
            "tools": [tool.name for tool in tools.tools],
            "figures": json.loads(figures.content[0].text),
            "refused": refused.content[0].text,
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(look, sys.argv[1])))
