"""Questions that owners of a platform ask first, and the calls that answer them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Question:
    """A question, and at most two tool calls that answer it."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...]


def _query(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return "queryMetrics", arguments


QUESTIONS: tuple[Question, ...] = (
    Question(
        "How many VPNs are left?",
        (
            ("listMetricKeys", {"query": "how many vpn left", "limit": 3}),
            _query(collector="ch", metricKey="networking.vpnsAvailable", aggregate="sum"),
        ),
    ),
    Question(
        "Which groups have no static IP left?",
        (_query(collector="ch", metricKey="networking.staticIPsAvailable", where="value <= 0"),),
    ),
    Question(
        "Which groups use the most vCores in production?",
        (_query(collector="ch", metricKey="applications.production.vcoresUsed", group_by="businessGroup", top=2),),
    ),
    Question(
        "Who uses more than half of the licensed vCores?",
        (_query(collector="ch", metricKey="vcoresUsed", where="percent > 50"),),
    ),
    Question("Which applications are stopped?", (_query(collector="ch", metricKey="applicationsStopped", of="items"),)),
    Question(
        "Which Mule versions are in use, and by how many applications?",
        (_query(collector="ch", metricKey="applicationsTotal", of="items", group_by="runtime"),),
    ),
    Question(
        "Which applications still run on Mule 4.4?",
        (_query(collector="ch", metricKey="applicationsStarted", of="items", where="runtime ~ 4.4"),),
    ),
    Question(
        "Which APIs in production have no policy?",
        (_query(collector="apm", metricKey="apis.production.apisWithoutPolicies", of="items"),),
    ),
    Question(
        "How many APIs lack a security policy, by environment?",
        (_query(collector="apm", metricKey="apisWithoutSecurity", group_by="environmentName"),),
    ),
    Question(
        "Which APIs get the most requests?",
        (_query(collector="apma", metricKey="transactions", of="items", sort="-requests", top=3),),
    ),
    Question("Which groups reuse nothing?", (_query(collector="ex", metricKey="reuse.fragments", where="value = 0"),)),
    Question(
        "Which fragments does nobody use?",
        (_query(collector="ex", metricKey="reuse.fragments", of="items", where="uses = 0"),),
    ),
    Question(
        "Which queues get the most messages?",
        (_query(collector="amq", metricKey="messagesSent", of="items", sort="-messagesSent", top=3),),
    ),
    Question(
        "How many people were active in the last 30 days?",
        (_query(collector="core", metricKey="users.activeMembersLast30Days", aggregate="sum"),),
    ),
    Question("What changed since last week?", (("whatChanged", {"since": "7d"}),)),
)
