"""schemathesis, which makes requests from `/openapi.json`, against a running server with something in it.

All phases. No answer may be a failure of the server or differ from the document: status, media type, headers, body,
`Allow`. `SCHEMATHESIS_SEED=7` tries other requests.
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

from tests.conformance.server import REPOSITORY, Served, environment, password_of, serving
from tests.interop.environments import schemathesis_python

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1200)]
HOOKS = "tests.interop.schemathesis_hooks"
EXAMPLES = 10_000
SEED = os.environ.get("SCHEMATHESIS_SEED", "16")
LIMITS = dict.fromkeys(
    ("PENTAD_LIMITS_CALLS_PER_SECOND", "PENTAD_LIMITS_ANONYMOUS_PER_SECOND", "PENTAD_LIMITS_LOGINS_PER_SECOND"), "0"
)
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
    """Make one thing of each kind; returns their ids as the hooks want them."""
    schema = ask(served, "POST", "/api/schemas", TREES)["id"]
    register = ask(served, "POST", "/api/registers", {"title": "Trees", "schemas": [schema]})["id"]
    where: dict[str, Any] = {"register": register, "schema": schema}
    pair = f"/api/objects/{register}/{schema}"
    made = [ask(served, "POST", pair, {"name": f"Oak {number}", "height": number}) for number in range(30)]
    gone = ask(served, "POST", pair, {"name": "Gone"})["id"]
    ask(served, "POST", f"{pair}/{made[0]['id']}/files", {"name": "a.txt", "content": "aGk="})
    ask(served, "DELETE", f"{pair}/{gone}")
    view = ask(served, "POST", "/api/views", {**where, "title": "Tall", "query": {"filter": {"height": {"gt": 3}}}})
    plan = ask(served, "POST", "/api/plans", {**where, "operations": [{"data": {"name": "Elm"}}]})
    hook = ask(served, "POST", "/api/webhooks", {"url": "https://hooks.invalid/x", **where, "enabled": False})
    organisation = ask(served, "POST", "/api/organisations", {"slug": "foresters"})
    ask(served, "POST", f"/api/organisations/{organisation['id']}/members", {"principal": "user:gus"})
    return {
        "": {**where, "name": "a.txt", "delivery": "1", "principal": "user:gus", "capability": "objects"},
        "objects": {"id": made[0]["id"]},
        "registers": {"id": register},
        "schemas": {"id": schema},
        "views": {"id": view["id"]},
        "plans": {"id": plan["id"]},
        "webhooks": {"id": hook["id"]},
        "organisations": {"id": organisation["id"]},
        "audit-trails": {"id": "1"},
        "deleted": {"id": gone},
    }


@pytest.mark.requirement("registers:openapi:schemathesis")
def test_schemathesis_finds_no_answer_that_is_not_as_described(tmp_path: Path) -> None:
    python = schemathesis_python()
    with serving("registers", users={"ada": "admin"}, settings=LIMITS) as served:
        known = {"KNOWN_IDS": json.dumps(fill(served)), "SCHEMATHESIS_HOOKS": HOOKS}
        document = tmp_path / "openapi.json"
        document.write_text(json.dumps(ask(served, "GET", "/openapi.json")), encoding="utf-8")
        finished = subprocess.run(
            [*command(python, served, document)], cwd=REPOSITORY, env={**environment(), **known}, capture_output=True,
            timeout=1100, check=False,
        )  # fmt: skip
        said = finished.stdout.decode(errors="replace")
        logged = served.logged()
    assert finished.returncode == 0, said[-20_000:]
    made = sum(int(found.replace(",", "")) for found in re.findall(r"([\d,]+) generated", said))
    assert made >= EXAMPLES, said[-3000:]
    assert '"level": "error"' not in logged


def command(python: Path, served: Served, document: Path) -> list[str]:
    return [
        str(python.with_name("schemathesis")), "--no-color", "run", str(document), "--url", served.site,
        "--auth", f"ada:{password_of('ada')}", "--include-path-regex", "^/api/(?!admin|account)",
        "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "80", "--seed", SEED,
        "--generation-database", "none", "--warnings", "off", "--request-timeout", "60",
        "--checks", "all", "--exclude-checks", "positive_data_acceptance",
        "--suppress-health-check", "all", "--continue-on-failure",
    ]  # fmt: skip
