"""schemathesis, which generates requests from `/openapi.json`, against a running server with data.

All phases run. No response may be a server error or differ from the document: status, media type, headers, body,
`Allow`. `SCHEMATHESIS_SEED=7` generates other requests.
"""

import base64
import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import Served, environment, password_of, serving
from tests.interop.environments import schemathesis_python
from tests.stores import PostgresServer

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1200)]
HOOKS = "tests.interop.schemathesis_hooks"
CONFIG = Path(__file__).with_name("schemathesis.toml")
SIZES = {"sqlite": (70, 10_000), "postgres": (8, 1_500)}
"""By store, how many examples each operation gets, and how many requests there must be at least."""
EXCLUDED = {
    "positive_data_acceptance": "a request that fits the document may still name what is not there, taken or hidden",
    "ignored_auth": "what is public may be read without credentials, so a request without them need not fail",
}
"""The checks that are left out, and why."""
SEED = os.environ.get("SCHEMATHESIS_SEED", "16")
LIMITS = {
    "PENTAD_LIMITS_CALLS_PER_SECOND": "0",
    "PENTAD_LIMITS_ANONYMOUS_PER_SECOND": "0",
    "PENTAD_LIMITS_LOGINS_PER_SECOND": "1000",
    "PENTAD_LIMITS_LOGINS_BURST": "100000",
}
TREES = {
    "title": "Tree",
    "properties": {
        "name": {"type": "string", "maxLength": 100},
        "height": {"type": "number", "facetable": True},
        "tags": {"type": "array", "items": {"type": "string"}},
        "planted": {"type": "string", "format": "date"},
        "parent": {"$ref": "tree", "type": "string"},
    },
}


def ask(served: Served, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{served.site}{path}", data, method=method)
    request.add_header("content-type", "application/json")
    login = base64.b64encode(f"ada:{password_of('ada')}".encode()).decode()
    request.add_header("authorization", f"Basic {login}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


def fill(served: Served) -> dict[str, Any]:
    """Create some of each kind; return their ids as the hooks expect them."""

    def pair(title: str) -> tuple[int, int]:
        schema = ask(served, "POST", "/api/schemas", {**TREES, "title": title, "slug": title.lower()})["id"]
        return ask(served, "POST", "/api/registers", {"title": f"{title}s", "schemas": [schema]})["id"], schema

    register, schema = pair("Tree")
    scratch = [pair(f"Scratch{number}") for number in range(3)]
    where: dict[str, Any] = {"register": register, "schema": schema}
    objects = f"/api/objects/{register}/{schema}"
    made = [ask(served, "POST", objects, {"name": f"Oak {number}", "height": number})["id"] for number in range(40)]
    for one in made:
        ask(served, "POST", f"{objects}/{one}/files", {"name": "a.txt", "content": "aGk="})
    for one in made[30:]:
        ask(served, "DELETE", f"{objects}/{one}")
    view: dict[str, Any] = {**where, "title": "Tall", "query": {"filter": {"height": {"gt": 3}}}}
    plan = {**where, "operations": [{"data": {"name": "Elm"}}]}
    hook: dict[str, Any] = {"url": "https://hooks.invalid/x", **where, "enabled": False}

    def several(path: str, body: dict[str, Any]) -> list[Any]:
        return [ask(served, "POST", path, body)["id"] for _ in range(10)]

    table = [ask(served, "POST", f"/api/registers/{register}/import", [{"name": f"Fir {one}"}]) for one in range(10)]
    organisations = [ask(served, "POST", "/api/organisations", {"slug": f"club-{one}"})["id"] for one in range(10)]
    for number, one in enumerate(organisations):
        ask(served, "POST", f"/api/organisations/{one}/members", {"principal": f"user:gus{number}"})
    changing = {
        f"{method} {area}": {"id": [one[index] for one in scratch]}
        for method in ("PUT", "PATCH", "DELETE")
        for index, area in enumerate(("registers", "schemas"))
    }
    return {
        "": {
            "register": [register, "trees"],
            "schema": [schema, "tree"],
            "name": ["a.txt"],
            "delivery": ["1"],
            "principal": ["user:gus1"],
            "capability": ["objects", "registers", "views"],
        },
        "objects": {"id": made[:30]},
        "registers": {"id": [register, "trees"]},
        "schemas": {"id": [schema, "tree"]},
        "views": {"id": several("/api/views", view)},
        "plans": {"id": several("/api/plans", plan)},
        "webhooks": {"id": several("/api/webhooks", hook)},
        "organisations": {"id": organisations},
        "audit-trails": {"id": list(range(1, 20))},
        "transfers": {"id": [one["transfer"] for one in table]},
        "deleted": {"id": made[30:]},
        **changing,
    }


@pytest.mark.requirement("registers:openapi:schemathesis")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_schemathesis_finds_no_answer_that_is_not_as_described(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    python, (examples, least) = schemathesis_python(), SIZES[store]
    settings = dict(LIMITS)
    if store == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        settings["PENTAD_DATABASE"] = server.fresh_database()
    with serving("registers", users={"ada": "admin"}, settings=settings) as served:
        known = {"KNOWN_IDS": json.dumps(fill(served)), "SCHEMATHESIS_HOOKS": HOOKS}
        document = tmp_path / "openapi.json"
        document.write_text(json.dumps(ask(served, "GET", "/openapi.json")), encoding="utf-8")
        finished = subprocess.run(
            command(python, served, document, examples), cwd=tmp_path, env={**environment(), **known},
            capture_output=True, timeout=1100, check=False,
        )  # fmt: skip
        # a request may have a body of many thousand characters
        said = "\n".join(line[:400] for line in finished.stdout.decode(errors="replace").splitlines())
        logged = served.logged()
    assert finished.returncode == 0, said[-20_000:]
    made = sum(int(found.replace(",", "")) for found in re.findall(r"([\d,]+) generated", said))
    assert made >= least, said[-3000:]
    assert '"level": "error"' not in logged


def command(python: Path, served: Served, document: Path, examples: int) -> list[str]:
    return [
        str(python.with_name("schemathesis")), "--no-color", "--config-file", str(CONFIG), "run", str(document),
        "--url", served.site,
        "--auth", f"ada:{password_of('ada')}", "--include-path-regex", "^/api/(?!admin|account)",
        "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", str(examples), "--seed", SEED,
        "--generation-database", "none", "--warnings", "off", "--request-timeout", "60", "--max-response-time", "60",
        "--checks", "all", "--exclude-checks", ",".join(EXCLUDED),
        "--suppress-health-check", "all", "--continue-on-failure",
    ]  # fmt: skip
