"""The calls on the metrics page, in order, on the demo organisation."""

from docs_src.tour_steps import Ask

TOUR: dict[str, Ask] = {
    "collectors": Ask("getAvailableCollectors", {}, block=0),
    "networking": Ask("getPlatformMetricByKey", {"collector": "ch", "metricKey": "networking", "recursive": False}),
    "keys": Ask("listMetricKeys", {"collector": "host", "query": "memory percent"}),
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
    "compare": Ask("compareMetrics", {"collector": "core", "since": "14d"}),
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
