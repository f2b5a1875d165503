"""Stored answers, the same for every id: a small invented organisation whose every figure was worked out by hand."""

import json
from pathlib import Path
from typing import Any

from tests.anypoint.world import World

ANSWERS: dict[str, Any] = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))


class Recorded(World):
    """`changes` replace stored answers, by name."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.answers = {**ANSWERS, **changes}
        self._tree = {group["id"]: group for group in _below(self.answers["hierarchy"])}
        self.orgs = list(self._tree)

    def owns(self, top: str, org: str) -> bool:
        return org in {group["id"] for group in _below(self._tree[top])}

    def hierarchy(self, org: str) -> dict[str, Any]:
        return self._tree[org]

    def environments(self, org: str) -> list[dict[str, Any]]:
        return self.answers["environments"]

    def members(self, org: str) -> list[dict[str, Any]]:
        return self.answers["members"]

    def usage(self, org: str) -> dict[str, Any]:
        return self.answers["usage"]

    def applications(self, env: str) -> list[dict[str, Any]]:
        return self.answers["applications"]

    def assets(self, org: str) -> list[dict[str, Any]]:
        return self.answers["assets"]

    def dependencies(self, org: str, asset: str) -> dict[str, Any]:
        return self.answers["dependencies"]

    def apis(self, org: str, env: str) -> list[dict[str, Any]]:
        return self.answers["apis"]

    def policies(self, env: str, api: str) -> dict[str, Any]:
        return {"policies": []} if api == "7002" else self.answers["policies"]

    def automated(self, env: str) -> dict[str, Any]:
        return self.answers["automated"]

    def clients(self, org: str) -> list[dict[str, Any]]:
        return self.answers["clients"]

    def projects(self, org: str) -> Any:
        return self.answers["projects"]

    def servers(self, env: str) -> list[dict[str, Any]]:
        return self.answers["servers"]

    def clusters(self, env: str) -> list[dict[str, Any]]:
        return self.answers["clusters"]

    def deployments(self, env: str) -> list[dict[str, Any]]:
        return self.answers["deployments"]

    def deployment(self, env: str, key: str) -> dict[str, Any]:
        return self.answers["deployment"][key]

    def fabrics(self, org: str) -> list[dict[str, Any]]:
        return self.answers["fabrics"]

    def analytics(self, env: str) -> dict[str, Any]:
        return self.answers["analytics"]

    def regions(self, env: str) -> list[dict[str, Any]]:
        return self.answers["regions"]

    def destinations(self, env: str, region: str) -> list[dict[str, Any]]:
        return self.answers["destinations"]

    def queue_stats(self, env: str, region: str, queue: str) -> dict[str, Any]:
        return self.answers["queue_stats"]

    def exchange_stats(self, env: str, region: str, exchange: str) -> dict[str, Any]:
        return self.answers["exchange_stats"]

    def store_stats(self, env: str) -> list[dict[str, Any]]:
        return self.answers["store_stats"]


def _below(group: dict[str, Any]) -> list[dict[str, Any]]:
    return [group, *(one for child in group["subOrganizations"] for one in _below(child))]
