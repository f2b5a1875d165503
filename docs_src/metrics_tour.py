"""The calls on the metrics page, in order, on the demo organisation."""

from docs_src.tour_steps import Ask

TOUR: dict[str, Ask] = {
    "collectors": Ask("getAvailableCollectors", {}, block=0),
    "networking": Ask("getPlatformMetricByKey", {"collector": "ch", "metricKey": "networking", "recursive": False}),
    "keys": Ask("listMetricKeys", {"collector": "host", "query": "memory percent", "limit": 1}),
    "unknown": Ask("getPlatformMetricByKey", {"collector": "host", "metricKey": "memory.percnt"}, block=0),
    "plan": Ask("getPlatformMetricByKey", {"collector": "amq", "metricKey": "messagesDelivered", "dry_run": True}),
    "history": Ask(
        "getMetricHistory",
        {
            "collector": "ch",
            "metricKey": "applications.production.vcoresUsed",
            "from": "14d",
            "step": "1d",
            "forecast": True,
            "environment": "Live",
            "chart": "ascii",
        },
        block=1,
    ),
    "question": Ask("listMetricKeys", {"query": "how many vpn left", "limit": 1}),
    "top": Ask(
        "queryMetrics", {"collector": "ch", "metricKey": "vcoresUsed", "group_by": "businessGroup", "aggregate": "sum"}
    ),
    "bars": Ask(
        "queryMetrics",
        {
            "collector": "ch",
            "metricKey": "applicationsTotal",
            "group_by": "businessGroup,environmentName",
            "aggregate": "sum",
            "chart": "ascii",
        },
        block=1,
    ),
    "items": Ask(
        "queryMetrics",
        {
            "collector": "apm",
            "metricKey": "apis.production.apisWithoutPolicies",
            "of": "items",
            "columns": ["name", "businessGroup", "environmentName", "contracts"],
        },
    ),
    "compare": Ask("whatChanged", {"since": "14d", "limit": 2}),
    "alerts": Ask("listAlerts", {"collector": "ch"}),
    "silence": Ask(
        "silenceAlerts",
        {"collector": "ch", "metricKey": "applications.*", "for": "2h", "reason": "release"},
        answered=False,
    ),
    "legacy": Ask(
        "getPlatformMetricByKey",
        {"collector": "ch", "metricKey": "networking.vpcsUsed", "compat": "legacy", "recursive": False},
    ),
    "benefits": Ask(
        "getPlatformBenefits",
        {
            "developAPIHistoricTime": 20,
            "developAPICurrentTime": 12,
            "maintainAPIHistoricTime": 5,
            "maintainAPICurrentTime": 3,
            "developerDayRate": 700,
            "recursive": False,
        },
        block=0,
    ),
    "export": Ask(
        "exportMetrics", {"collector": "ch", "keys": "networking", "format": "csv", "recursive": False}, block=0
    ),
}
