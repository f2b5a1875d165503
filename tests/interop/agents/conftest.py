"""One Pentad that hosts the agent, shared by all foreign clients."""

import json
import urllib.request
from collections.abc import Generator
from typing import Any

import pytest

from tests.conformance.server import serving
from tests.interop.agents.tours import Site
from tests.ports import free_port


def posted(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


@pytest.fixture(scope="session")
def site() -> Generator[Site]:
    arguments = ["--agent", "tests.interop.agents.agent:Agent", "--grpc-port", str(free_port())]
    with serving("agents,registers", arguments) as served:
        url = f"http://localhost:{served.port}"
        schema = {"title": "Person", "slug": "person", "properties": {"name": {"type": "string"}}}
        schema_id = posted(f"{url}/api/schemas", schema)["id"]
        register_id = posted(f"{url}/api/registers", {"title": "People", "slug": "people", "schemas": ["person"]})["id"]
        person = posted(f"{url}/api/objects/people/person", {"name": "Noor"})
        yield Site(url, f"openregister://objects/{register_id}/{schema_id}/{person['id']}")
