"""Measures the directory: validation beside other validators, records over gRPC and MCP, search and registry as they
grow.
"""

from benchmarks.directory.registry import listing
from benchmarks.directory.searching import searching
from benchmarks.directory.validation import validating
from benchmarks.directory.wire import over_the_wire
from benchmarks.effort import Effort
from benchmarks.table import Figure


def measure(effort: Effort) -> list[Figure]:
    """Every figure of this part."""
    return [*validating(effort), *over_the_wire(effort), *searching(effort), *listing(effort)]
