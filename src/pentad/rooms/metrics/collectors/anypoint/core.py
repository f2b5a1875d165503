"""Access management: members and environments of a group; and what it is entitled to in the network."""

from collections.abc import Callable
from typing import Any, Final

from pentad.kernel.clock import parse_iso
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, added, at, made, number
from pentad.rooms.metrics.collectors.anypoint.known import Known

DAY: Final = 86_400.0
NETWORK: Final = {
    "vpcs": ("vpcs", "vpcsConsumed"),
    "vpns": ("vpns", "vpnsConsumed"),
    "dlbs": ("loadBalancer", "loadBalancersConsumed"),
    "staticIPs": ("staticIps", "staticIpsConsumed"),
}


def moment(text: Any) -> float:
    """Seconds since 1970 of a time as the platform writes it; what is none counts as the year 2000."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return text / 1000
    try:
        return parse_iso(str(text)).timestamp()
    except ValueError:
        return 946_684_800.0


def core(known: Known) -> dict[str, Node]:
    members = known.cell("members")
    return {"users": _users(members, known.now), "environments": _environments(known)}


def _users(members: Cell, now: float) -> dict[str, Node]:
    def share(test: Callable[[Any], bool]) -> Cell:
        return made(lambda found: sum(1 for member in found if test(member)), members)

    return {
        "total": share(lambda _: True),
        "activeMembers": share(lambda member: member.get("enabled") is True),
        "inactiveMembers": share(lambda member: member.get("enabled") is False),
        "activeMembersLast60Days": share(lambda member: moment(member.get("lastLogin")) >= now - 60 * DAY),
        "activeMembersLast30Days": share(lambda member: moment(member.get("lastLogin")) >= now - 30 * DAY),
    }


def _environments(known: Known) -> dict[str, Node]:
    if known.environments_cell.value is None:
        return dict.fromkeys(("total", "production", "sandbox"), known.environments_cell)
    production = len(known.of_kind(production=True))
    total = len(known.environments)
    return {"total": Cell(total), "production": Cell(production), "sandbox": Cell(total - production)}


def networking(known: Known) -> dict[str, Node]:
    """What is assigned to the group, what of it is in use, and what is left."""
    usage = known.cell("usage")
    found: dict[str, Node] = {}
    for name, (entitlement, used_name) in NETWORK.items():
        assigned = at(known.group.entitlements, entitlement, "assigned")
        total = Cell(number(assigned)) if assigned is not None else Cell(None, "not-entitled")
        used = made(lambda said, wanted=used_name: said.get(wanted), usage)
        if used.state == "ok" and used.value is None:
            used = Cell(None, "unsupported")
        found[f"{name}Total"] = total
        found[f"{name}Used"] = used
        found[f"{name}Available"] = made(lambda all_of_it, taken: added((all_of_it, -number(taken))), total, used)
    return found


def vcores(known: Known, kind: str) -> Cell:
    """What the group itself may use: assigned to it and not passed on."""
    granted = at(known.group.entitlements, {"production": "vCoresProduction", "sandbox": "vCoresSandbox"}[kind])
    if granted is None:
        return Cell(None, "not-entitled")
    return Cell(added((number(at(granted, "assigned")), -number(at(granted, "reassigned")))))
