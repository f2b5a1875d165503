"""`python -m tests.anypoint --port P --groups 50 --environments 4 --latency-ms 50`: the fake platform as a server."""

import argparse
import asyncio
import json
import sys

from tests.anypoint.faults import Fault
from tests.anypoint.logins import APPS, USERS
from tests.anypoint.recorded import Recorded
from tests.anypoint.server import Behaviour, Platform, serving
from tests.anypoint.world import Size, World


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.anypoint", description=__doc__)
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--environments", type=int, default=4)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument(
        "--apis", type=int, default=2, help="assets in API Manager for each environment, two instances each"
    )
    parser.add_argument("--deployments", type=int, default=2)
    parser.add_argument("--destinations", type=int, default=2, help="queues and exchanges for each region")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--lognormal", action="store_true", help="latency varies around --latency-ms")
    parser.add_argument("--rate-limit", type=int, help="requests in each window")
    parser.add_argument("--window", type=float, default=60.0, help="seconds of a window")
    parser.add_argument("--token-seconds", type=float, default=3600.0)
    parser.add_argument("--user-only-routes", action="store_true", help="refuse connected apps where a user is needed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recorded", action="store_true", help="stored answers, the same for every id")
    parser.add_argument("--faults", default="[]", help='as JSON: [{"route": "applications", "status": 403}]')
    return parser.parse_args()


async def main(given: argparse.Namespace) -> None:
    size = Size(
        groups=given.groups, environments=given.environments, members=given.members, clients=given.clients,
        api_assets=given.apis, deployments=given.deployments, destinations=given.destinations,
    )  # fmt: skip
    behaviour = Behaviour(
        latency=given.latency_ms / 1000, jitter=given.lognormal, rate_limit=given.rate_limit, window=given.window,
        user_only_routes=given.user_only_routes,
    )  # fmt: skip
    faults = [Fault(**entry) for entry in json.loads(given.faults)]
    world = Recorded() if given.recorded else World(size, given.seed)
    platform = Platform(world, faults=faults, behaviour=behaviour)
    platform.logins.lifetime = given.token_seconds
    async with serving(platform, given.port):
        (user, password), (app, secret) = next(iter(USERS.items())), next(iter(APPS.items()))
        settings = {
            "URL": platform.url, "ORG": platform.world.root, "CLIENT_ID": app, "CLIENT_SECRET": secret,
            "USERNAME": user, "PASSWORD": password,
        }  # fmt: skip
        sys.stdout.write("".join(f"PENTAD_ANYPOINT_{name}={value}\n" for name, value in settings.items()))
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(main(options()))
    except KeyboardInterrupt:
        pass
