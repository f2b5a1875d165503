"""Plans and samples for collectors whose facts have no scope: both follow from the catalogue alone."""

from collections.abc import Iterable
from typing import Any

from pentad.rooms.metrics.metric_keys import flatten
from pentad.rooms.metrics.models import Fact, Facts, Metric, Plan, Query, Sample, Snapshot, missing_samples


def plan_facts(
    catalogue: Iterable[Metric], query: Query, known: Facts, *, everything: bool = False, is_local: bool = False
) -> Plan:
    """The facts of the wanted metrics that are not known yet. A local source costs no requests."""
    wanted = (metric for metric in catalogue if everything or query.wants(metric.key))
    facts = [Fact(name) for name in dict.fromkeys(name for metric in wanted for name in metric.facts)]
    return Plan(tuple(fact for fact in facts if fact not in known), calls=0 if is_local else len(facts))


def tree_snapshot(collector: str, catalogue: Iterable[Metric], query: Query, facts: Facts, tree: Any) -> Snapshot:
    """A snapshot with a sample for each figure of the tree that is in the catalogue, and for each missing one."""
    units = {metric.key: metric.unit for metric in catalogue}
    samples = [
        Sample(key=match.path, labels=match.labels, value=match.value, unit=units[match.path])
        for match in flatten(tree)
        if match.path in units
    ]
    samples += missing_samples(catalogue, query, facts)
    return Snapshot(collector=collector, scope="", as_of=query.now, tree=tree, samples=samples)
