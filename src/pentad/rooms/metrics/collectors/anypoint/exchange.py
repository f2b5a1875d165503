"""Exchange: assets by type, how they are rated, and how much they are used again."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.api_manager import applied_templates
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, made, number, state_of, worst
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.tree import Environment

Asset = dict[str, Any]
Name = tuple[Any, Any]

TYPES: Final = {
    "apiSpecs": "rest-api", "fragments": "raml-fragment", "proxies": "http-api", "soapApis": "soap-api",
    "policies": "policy", "mule3Connectors": "connector", "extensions": "extension", "applications": "app",
    "custom": "custom",
}  # fmt: skip
PARENTS: Final = frozenset({"rest-api", "app"})


def named(item: Any) -> Name:
    return item.get("groupId"), item.get("assetId")


def counting(assets: Iterable[Asset]) -> list[Asset]:
    """Those that people made."""
    return [asset for asset in assets if asset.get("isGenerated") is False]


def parents(assets: Iterable[Asset]) -> list[Asset]:
    """Those whose dependencies are asked for."""
    return [asset for asset in counting(assets) if asset.get("type") in PARENTS]


def exchange(known: Known) -> dict[str, Node]:
    assets = made(counting, known.cell("ex.assets"))
    return {
        "total": made(len, assets),
        **{key: made(lambda found, kind=kind: len(_of(found, kind)), assets) for key, kind in TYPES.items()},
        "overallSatisfaction": made(_satisfaction, assets),
        "reuse": _reuse(known, assets),
    }


def _of(assets: Iterable[Asset], kind: str) -> list[Asset]:
    return [asset for asset in assets if asset.get("type") == kind]


def mean(values: Sequence[int | float]) -> int | float:
    """0 where there is nothing; a whole number as such."""
    if not values:
        return 0
    average = sum(values) / len(values)
    return int(average) if average == int(average) else average


def _satisfaction(assets: Iterable[Asset]) -> int | float:
    return mean([number(asset.get("rating")) for asset in assets if number(asset.get("numberOfRates")) > 0])


def _reuse(known: Known, assets: Cell) -> dict[str, Node]:
    production, sandbox = known.of_kind(production=True), known.of_kind(production=False)
    return {
        "fragments": _used(known, assets, "rest-api", "raml-fragment"),
        "implementedApis": _used(known, assets, "app", "rest-api"),
        "extensions": _used(known, assets, "app", "extension"),
        "managedSboxApis": _elsewhere(known, assets, "rest-api", sandbox, _managed),
        "managedProdApis": _elsewhere(known, assets, "rest-api", production, _managed),
        "appliedPoliciesSbox": _elsewhere(known, assets, "policy", sandbox, applied_templates),
        "appliedPoliciesProd": _elsewhere(known, assets, "policy", production, applied_templates),
    }


def _used(known: Known, assets: Cell, parent: str, child: str) -> Cell:
    """How many of the parents depend on a child, on average; whatever the version, and each parent once."""
    if assets.value is None:
        return assets
    needs = [
        known.cell("ex.dependencies", *(str(asset.get(name)) for name in ("groupId", "assetId", "version")))
        for asset in _of(assets.value, parent)
    ]
    children = _of(assets.value, child)
    if needs and children and all(cell.value is None for cell in needs):
        return Cell(None, worst(needs))
    used = [{named(dependency) for dependency in cell.value} for cell in needs if cell.value is not None]
    return Cell(mean([sum(named(asset) in names for names in used) for asset in children]), state_of(needs))


def _managed(known: Known, environment: Environment) -> Cell:
    return made(lambda found: [named(asset) for asset in found], known.cell("apm.apis", environment.id))


def _elsewhere(
    known: Known, assets: Cell, kind: str, places: Sequence[Environment], names: Callable[[Known, Environment], Cell]
) -> Cell:
    """How often an asset of a type is met in the environments, on average."""
    if assets.value is None:
        return assets
    if known.environments_cell.value is None:
        return known.environments_cell
    cells = [names(known, environment) for environment in places]
    if cells and all(cell.value is None for cell in cells):
        return Cell(None, worst(cells))
    met = [name for cell in cells if cell.value is not None for name in cell.value]
    return Cell(mean([met.count(named(asset)) for asset in _of(assets.value, kind)]), state_of(cells))
