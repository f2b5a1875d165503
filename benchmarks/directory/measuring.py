"""Measures the directory: validation beside other validators, records over gRPC and MCP, search and registry as they
grow.
"""

from collections.abc import Iterator

from benchmarks.directory.registry import listing
from benchmarks.directory.searching import searching
from benchmarks.directory.validation import validating
from benchmarks.directory.wire import over_the_wire
from benchmarks.effort import Effort
from benchmarks.table import Figure


def measure(effort: Effort) -> Iterator[Figure]:
    """Every figure of this part, as soon as it is measured."""
    for battery in (validating, over_the_wire, searching, listing):
        yield from battery(effort)
