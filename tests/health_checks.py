"""All health checks of Hypothesis, for slow properties over real stores that no check should stop."""

from typing import cast

from hypothesis import HealthCheck

ALL_HEALTH_CHECKS = cast("list[HealthCheck]", list(HealthCheck))
"""The metaclass does not declare what it iterates over."""
