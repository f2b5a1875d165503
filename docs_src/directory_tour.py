"""The calls on the directory page, in order. `$name` stands for a value from an earlier answer."""

import json
from typing import Any

from docs_src.tour_steps import Ask, Command, Request

LIBRARIAN: dict[str, Any] = {
    "name": "example.org/librarian",
    "version": "v1.0.0",
    "schema_version": "1.0.0",
    "description": "Finds books in the town library and answers questions about them.",
    "authors": ["Reading Room"],
    "created_at": "2026-03-02T09:30:00Z",
    "skills": [{"name": "retrieval_augmented_generation/retrieval_of_information/document_retrieval", "id": 60103}],
    "domains": [{"name": "education/e_learning"}],
    "locators": [{"type": "source_code", "urls": ["https://git.example.org/librarian"]}],
    "modules": [],
}
CARD: dict[str, Any] = {
    "name": "Route planner",
    "description": "Plans delivery routes for a city.",
    "version": "3.0.1",
    "updatedAt": "2026-03-02T09:30:00Z",
    "url": "https://routes.example.org/a2a",
    "provider": {"organization": "Example Logistics", "url": "https://example.org"},
    "capabilities": {"streaming": True},
    "skills": [{"id": "plan", "name": "Plan a route", "description": "Finds the shortest route.", "tags": ["maps"]}],
}

WEATHER: dict[str, Any] = {
    "name": "org.example/weather",
    "description": "Tells the weather of a place, now and for the next days.",
    "version": "1.2.0",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/weather",
            "version": "1.2.0",
            "transport": {"type": "stdio"},
            "environmentVariables": [{"name": "WEATHER_KEY", "isRequired": True, "isSecret": True}],
        }
    ],
}


def written(record: dict[str, Any], **changes: Any) -> str:
    """A line for each member."""
    members = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in {**record, **changes}.items()]
    return "{\n" + ",\n".join(members) + "\n}"


MISTAKEN = {"descripton" if key == "description" else key: value for key, value in LIBRARIAN.items()}
MISTAKEN["locators"] = [{"type": "source-code", "urls": ["https://git.example.org/librarian"]}]

TOUR: dict[str, Ask | Command | Request] = {
    "registry-import": Command("pentad directory import server.json", ("server.json", json.dumps(WEATHER, indent=2))),
    "state-propose": Command("pentad directory state set org.example/weather proposed --reason 'Reads our calendar'"),
    "state-set": Command("pentad directory state set org.example/weather approved --reason 'Reviewed by security'"),
    "state-show": Command("pentad directory state show org.example/weather"),
    "registry-list": Request("GET", "/v0.1/servers?search=weather&version=latest"),
    "install": Command("pentad directory install org.example/weather --client cursor --print"),
    "validate": Command("pentad directory validate librarian.json", ("librarian.json", written(MISTAKEN))),
    "repair": Command("pentad directory validate --fix librarian.json"),
    "push": Command("pentad directory push librarian.json", ("librarian.json", written(LIBRARIAN))),
    "import": Command("pentad directory import card.json", ("card.json", written(CARD))),
    "words": Ask("agntcy_dir_search_local", {"query": "library books"}),
    "filters": Ask(
        "agntcy_dir_search_local",
        {"skill_names": ["*retrieval*"], "versions": [">=v1.0.0", "<v2"], "exclude": {"authors": ["*Logistics*"]}},
    ),
    "push-again": Command(
        "pentad directory push librarian-2.json",
        (
            "librarian-2.json",
            written(
                LIBRARIAN,
                version="v1.1.0",
                skills=[{"name": "natural_language_processing/natural_language_generation/summarization"}],
            ),
        ),
    ),
    "resolve": Ask("directory_resolve", {"reference": "example.org/librarian"}),
    "lineage": Command("pentad directory lineage example.org/librarian"),
    "diff": Ask("directory_diff", {"before": "example.org/librarian:v1.0.0", "after": "example.org/librarian:v1.1.0"}),
    "migrate": Ask("directory_migrate", {"reference": "example.org/librarian:v1.1.0", "to_version": "1.1.0"}),
    "sign": Ask(
        "directory_sign", {"reference": "example.org/librarian:v1.1.0"}, keep={"cid": "cid", "key": "public_key"}
    ),
    "verify": Ask("agntcy_dir_verify_record", {"cid": "$cid"}),
    "verify-command": Command("pentad directory verify example.org/librarian:v1.0.0"),
    "trust-add": Ask(
        "directory_trust", {"action": "add", "name": "reading-room", "namespace": "example.org", "key": "$key"}
    ),
    "trust-verify": Ask("agntcy_dir_verify_record", {"cid": "$cid"}),
    "quarantine-set": Command("pentad directory namespaces set example.org --quarantine"),
    "quarantine": Command("pentad directory quarantine"),
    "search": Command("pentad directory search --name '*planner*'"),
}
