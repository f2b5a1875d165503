"""An invented organisation with groups, environments and their contents; the same for the same seed.

Every method returns the answer of a route before paging. Planted secrets are where the real platform has secrets, so
that tests can search for them. `recorded.Recorded` returns stored answers instead.
"""

import random
from dataclasses import dataclass
from typing import Any
from uuid import UUID

CANARY = "SECRET-MUST-NOT-LEAK"
REGIONS = ("us-east-1", "us-west-2", "ca-central-1", "eu-west-1", "eu-west-2", "ap-southeast-1", "ap-southeast-2")
NAMES = ("Lumen Orchards", "Brass, Tin & Co", 'The "Quay"', "Øresund", "果樹園", "Mill Lane", "Salt Works", "Harbour")
POLICIES = ("client-id-enforcement", "rate-limiting", "ip-allowlist", "jwt-validation", "cors")
VERSIONS = ("4.4.0", "4.6.1", "4.9.3")


@dataclass(frozen=True)
class Size:
    """The size of the organisation; by default a small one."""

    groups: int = 1
    environments: int = 4
    members: int = 3
    clients: int = 2
    assets: int = 4
    api_assets: int = 2
    instances: int = 2
    deployments: int = 2
    destinations: int = 2
    regions: int = 7
    applications: int = 2
    gateways: int = 4
    audited: int = 6


class World:
    """The answers of a whole platform."""

    def __init__(self, size: Size | None = None, seed: int = 1) -> None:
        self.size = size or Size()
        self.seed = seed
        self.orgs = [self._id("a", number) for number in range(self.size.groups)]
        self._place = {org: number for number, org in enumerate(self.orgs)}

    @property
    def root(self) -> str:
        return self.orgs[0]

    def _id(self, kind: str, number: int) -> str:
        return str(UUID(int=random.Random(f"{self.seed}:{kind}:{number}").getrandbits(128), version=4))

    def dice(self, *parts: str) -> random.Random:
        return random.Random(":".join((str(self.seed), *parts)))

    def owns(self, top: str, org: str) -> bool:
        """Whether a login of one group may see another: its own group, and all below it."""
        place = self._place.get(org)
        while place is not None:
            if self.orgs[place] == top:
                return True
            place = (place - 1) // 7 if place else None
        return False

    def hierarchy(self, org: str) -> dict[str, Any]:
        place = self._place[org]
        below = [child for child in range(7 * place + 1, 7 * place + 8) if child < len(self.orgs)]
        dice = self.dice("org", org)
        assigned = {
            name: {"assigned": dice.randint(1, 9), "reassigned": 0}
            for name in (
                "vCoresProduction",
                "vCoresSandbox",
                "vCoresDesign",
                "vpcs",
                "vpns",
                "loadBalancer",
                "staticIps",
            )
        }
        return {
            "id": org,
            "name": NAMES[place] if place < len(NAMES) else f"Group {place}",
            "isMaster": place == 0,
            "ownerName": f"Pia {CANARY}",
            "clientId": f"cid-{CANARY}",
            "entitlements": {
                **assigned,
                "hybrid": {"enabled": True},
                "runtimeFabric": True,
                "mqMessages": {"base": 1000, "addOn": 0},
                "objectStoreRequestUnits": {"base": 1000, "addOn": 0},
            },
            "subOrganizations": [self.hierarchy(self.orgs[child]) for child in below],
        }

    def environments(self, org: str) -> list[dict[str, Any]]:
        kinds = [("Design", "design")]
        kinds += [
            ("Live" if not n else f"Trial {n}", "sandbox" if n else "production") for n in range(self.size.environments)
        ]
        return [
            {
                "id": self._id(f"e{org}", number), "name": name, "organizationId": org,
                "isProduction": kind == "production", "type": kind, "clientId": f"cid-{CANARY}",
            }
            for number, (name, kind) in enumerate(kinds)
        ]  # fmt: skip

    def members(self, org: str) -> list[dict[str, Any]]:
        return [
            {
                "id": f"u-{number}", "username": f"user-{CANARY}", "email": f"{CANARY}@example.invalid",
                "enabled": number % 3 != 2, "lastLogin": None if number % 2 else "2024-02-01T08:00:00.000Z",
            }
            for number in range(self.size.members)
        ]  # fmt: skip

    def rolegroups(self, org: str) -> list[dict[str, Any]]:
        return [{"role_group_id": "rg-1", "name": "Viewers", "org_id": org, "user_count": 2}]

    def usage(self, org: str) -> dict[str, Any]:
        dice = self.dice("usage", org)
        names = ("staticIpsConsumed", "vpcsConsumed", "vpnsConsumed", "loadBalancersConsumed")
        return {"productionVCoresConsumed": 0.3, **{name: dice.randint(0, 1) for name in names}}

    def applications(self, env: str) -> list[dict[str, Any]]:
        return [
            {
                "domain": f"app-{number}", "status": "UNDEPLOYED" if number % 3 == 1 else "STARTED",
                "workers": {"type": {"name": "Micro", "weight": 0.1}, "amount": 1 + number % 3},
                "muleVersion": {"version": VERSIONS[number % 3]}, "region": ("us-east-2", "eu-west-1")[number % 2],
                "properties": {"secure.key": CANARY},
            }
            for number in range(self.size.applications)
        ]  # fmt: skip

    def assets(self, org: str) -> list[dict[str, Any]]:
        kinds = (
            "rest-api",
            "app",
            "raml-fragment",
            "policy",
            "extension",
            "custom",
            "soap-api",
            "http-api",
            "connector",
        )
        return [
            {
                "organizationId": org, "groupId": org, "assetId": f"asset-{number}", "version": "1.0.0",
                "type": kinds[number % 9], "isGenerated": number % 9 == 8, "rating": 4, "numberOfRates": number % 2,
            }
            for number in range(self.size.assets)
        ]  # fmt: skip

    def dependencies(self, org: str, asset: str) -> dict[str, Any]:
        wanted = "asset-2" if asset.endswith("-0") else "asset-0"
        needed = [{"groupId": org, "assetId": wanted, "version": "0.9.0", "type": "any"}]
        return {"organizationId": org, "groupId": org, "assetId": asset, "version": "1.0.0", "dependencies": needed}

    def apis(self, org: str, env: str) -> list[dict[str, Any]]:
        each = self.size.instances
        return [
            {
                "id": 500 + number, "groupId": org, "assetId": f"asset-{number}", "totalApis": each,
                "apis": [
                    {
                        "id": 7000 + number * each + turn, "productVersion": f"v{turn + 1}",
                        "lastActiveDate": None, "activeContractsCount": turn * 2,
                    }
                    for turn in range(each)
                ],
            }
            for number in range(self.size.api_assets)
        ]  # fmt: skip

    def policies(self, env: str, api: str) -> dict[str, Any]:
        dice = self.dice("policies", env, api)
        chosen = dice.sample(POLICIES, dice.randint(0, 2))
        return {
            "policies": [
                {"policyId": number, "configuration": {"key": CANARY}, "template": {"groupId": "tpl", "assetId": name}}
                for number, name in enumerate(chosen)
            ]
        }

    def automated(self, env: str) -> dict[str, Any]:
        return {"automatedPolicies": [{"assetId": "rate-limiting"}], "total": 1}

    def clients(self, org: str) -> list[dict[str, Any]]:
        return [
            {"id": 3000 + number, "name": f"kiosk-{number}", "clientId": f"cid-{CANARY}", "clientSecret": CANARY,
             "owner": f"Pia {CANARY}", "email": f"{CANARY}@example.invalid"}
            for number in range(self.size.clients)
        ]  # fmt: skip

    def projects(self, org: str) -> Any:
        kinds = ("raml", "raml-fragment", "Mule_Application")
        return [{"id": f"p-{number}", "name": f"p-{number}", "type": kinds[number % 3]} for number in range(3)]

    def servers(self, env: str) -> list[dict[str, Any]]:
        return [{"id": 41 + n, "name": f"node-{n}", "muleVersion": VERSIONS[n], "status": "RUNNING"} for n in range(2)]

    def clusters(self, env: str) -> list[dict[str, Any]]:
        return [{"id": 51, "name": "pair", "servers": [{"id": 41}]}]

    def server_groups(self, env: str) -> list[dict[str, Any]]:
        return []

    def deployments(self, env: str) -> list[dict[str, Any]]:
        return [
            {
                "id": f"d-{number}", "name": f"proc-{number}", "status": "STARTED",
                "target": {"provider": "RR" if number % 3 == 2 else "MC", "targetId": "fabric-1"},
                "application": {"status": "RUNNING"},
            }
            for number in range(self.size.deployments)
        ]  # fmt: skip

    def deployment(self, env: str, key: str) -> dict[str, Any]:
        item = next(item for item in self.deployments(env) if item["id"] == key)
        settings = {
            "resources": {"cpu": {"reserved": "500m"}, "memory": {"reserved": "1000Mi"}},
            "runtimeVersion": "4.6.1:v1.0.7",
        }
        secret = {
            "mule.agent.application.properties.service": {"properties": {"anypoint.platform.client_secret": CANARY}}
        }
        return {
            **item,
            "target": {**item["target"], "replicas": 1, "deploymentSettings": settings},
            "application": {"status": "RUNNING", "configuration": secret},
        }

    def fabrics(self, org: str) -> list[dict[str, Any]]:
        nodes = [
            {"uid": "n-1", "role": "controller", "capacity": {"cpuMillis": 2000, "memoryMi": 8000}},
            {"uid": "n-2", "role": "worker", "capacity": {"cpuMillis": 3500, "memoryMi": 15000}},
        ]
        return [{"id": "fabric-1", "name": "barn", "region": "us-east-1", "nodes": nodes}]

    def analytics(self, env: str) -> dict[str, Any]:
        rows = [{"7001": {"count": 120}}, {"7003": {"count": 30}}]
        return {"success": True, "response": [{"api_id": rows}, {"client_id": [{"cid-9": {"count": 150}}]}]}

    def regions(self, env: str) -> list[dict[str, Any]]:
        return [
            {"regionId": name, "regionName": name.title(), "fifoAvailable": True}
            for name in REGIONS[: self.size.regions]
        ]

    def destinations(self, env: str, region: str) -> list[dict[str, Any]]:
        return [
            {"type": "exchange", "exchangeId": f"x-{number}"}
            if number % 3 == 2
            else {"type": "queue", "queueId": f"q-{number}", "fifo": number % 3 == 1}
            for number in range(self.size.destinations)
        ]

    def queue_stats(self, env: str, region: str, queue: str) -> dict[str, Any]:
        names = ("messages", "inflightMessages", "messagesSent", "messagesReceived", "messagesAcked")
        return {
            "destination": queue,
            **{name: [{"date": "2024-03-01T12:00:00.000+0000", "value": 3}] for name in names},
        }

    def exchange_stats(self, env: str, region: str, exchange: str) -> dict[str, Any]:
        names = ("messagesPublished", "messagesDelivered")
        return {
            "destination": exchange,
            **{name: [{"date": "2024-03-01T12:00:00.000+0000", "value": 4}] for name in names},
        }

    def store_stats(self, env: str) -> list[dict[str, Any]]:
        return [{"timeStamp": "2024-03-01T00:00:00Z", "objectStoreRequestCount": 2500}]

    def gateways(self, env: str) -> list[dict[str, Any]]:
        return [
            {
                "id": f"g-{number}", "name": f"edge-{number}", "targetId": "space-1",
                "status": "APPLYING" if number % 3 == 2 else "RUNNING",
                "dateCreated": "2024-03-01T12:00:00Z", "lastUpdated": "2024-03-01T12:00:00Z",
            }
            for number in range(self.size.gateways)
        ]  # fmt: skip

    def audit_log(self, org: str) -> list[dict[str, Any]]:
        actions = ("Create", "Update", "Delete", "Update")
        return [
            {
                "id": f"{org}-{number}", "action": actions[number % 4], "objectType": "API", "platform": "API Manager",
                "objectName": f"asset-{number % 3}", "userName": f"user-{number % 2}",
                "userEmail": f"{CANARY}@example.invalid", "createdAt": "2024-03-01T12:00:00.000Z",
                "environmentName": "Live", "payload": {"secret": CANARY},
            }
            for number in range(self.size.audited)
        ]  # fmt: skip

    def meter(self, measurement: str) -> list[dict[str, Any]]:
        return [
            {
                "timestamp": 1_709_251_200_000 + day * 86_400_000, "org_name": self.hierarchy(org)["name"],
                "env_name": "Live", "env_type": "Production", "app_name": f"app-{number}",
                measurement: 10 * (number + 1) + day,
            }
            for org in self.orgs
            for number in range(2)
            for day in range(3)
        ]  # fmt: skip
