"""All tools of the room."""

from typing import Final

from pentad.rooms.metrics.past_tools import compare_metrics, get_metric_history, list_alerts
from pentad.rooms.metrics.platform_tools import get_platform_benefits, get_sdlc_metrics
from pentad.rooms.metrics.reading_tools import (
    explain_metric,
    export_metrics,
    get_available_collectors,
    get_capabilities,
    get_platform_metric_by_key,
    get_platform_metrics_by_collector,
    list_metric_keys,
    load_metrics,
)

TOOLS: Final = (
    get_capabilities,
    get_available_collectors,
    get_platform_metrics_by_collector,
    get_platform_metric_by_key,
    list_metric_keys,
    get_metric_history,
    compare_metrics,
    list_alerts,
    explain_metric,
    get_platform_benefits,
    get_sdlc_metrics,
    export_metrics,
    load_metrics,
)
