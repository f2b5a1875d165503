"""Exchange: assets by type, their rating and their reuse."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.api_manager import applied_templates
from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, combined_state, derive, missing_state

Asset = dict[str, Any]
Name = tuple[Any, Any]

TYPES: Final = {
    "apiSpecs": "rest-api", "fragments": "raml-fragment", "proxies": "http-api", "soapApis": "soap-api",
    "policies": "policy", "mule3Connectors": "connector", "extensions": "extension", "applications": "app",
    "custom": "custom",
}  # fmt: skip
PARENTS: Final = frozenset({"rest-api", "app"})


def asset_id(item: Any) -> Name:
    return item.get("groupId"), item.get("assetId")


def own_assets(assets: Iterable[Asset]) -> list[Asset]:
    """Assets that people created; generated ones are left out."""
    return [asset for asset in assets if not asset["isGenerated"]]


def assets_with_dependencies(assets: Iterable[Asset]) -> list[Asset]:
    """The assets whose dependencies are fetched."""
    return [asset for asset in own_assets(assets) if asset.get("type") in PARENTS]


def exchange(known: GroupFacts) -> dict[str, Node]:
    assets = derive(own_assets, known.cell("ex.assets"))
    return {
        "total": derive(len, assets),
        **{
            key: derive(lambda found, kind=kind: len(assets_of_type(found, kind)), assets)
            for key, kind in TYPES.items()
        },
        "overallSatisfaction": derive(_satisfaction, assets),
        "reuse": _reuse(known, assets),
    }


def assets_of_type(assets: Iterable[Asset], kind: str) -> list[Asset]:
    return [asset for asset in assets if asset.get("type") == kind]


def mean(values: Sequence[int | float]) -> int | float:
    """The mean; 0 without values, an int if it is whole."""
    if not values:
        return 0
    average = sum(values) / len(values)
    return int(average) if average == int(average) else average


def _satisfaction(assets: Iterable[Asset]) -> int | float:
    return mean([asset["rating"] for asset in assets if asset.get("numberOfRates") and asset.get("rating") is not None])


def _reuse(known: GroupFacts, assets: Cell) -> dict[str, Node]:
    production, sandbox = known.of_kind(production=True), known.of_kind(production=False)
    return {
        "fragments": _mean_uses(dependents(known, assets, "rest-api", "raml-fragment")),
        "implementedApis": _mean_uses(dependents(known, assets, "app", "rest-api")),
        "extensions": _mean_uses(dependents(known, assets, "app", "extension")),
        "managedSboxApis": _mean_uses(occurrences(known, assets, "rest-api", sandbox, managed_assets)),
        "managedProdApis": _mean_uses(occurrences(known, assets, "rest-api", production, managed_assets)),
        "appliedPoliciesSbox": _mean_uses(occurrences(known, assets, "policy", sandbox, applied_templates)),
        "appliedPoliciesProd": _mean_uses(occurrences(known, assets, "policy", production, applied_templates)),
    }


def _mean_uses(uses: Cell) -> Cell:
    return derive(lambda found: mean([count for _, count in found]), uses)


def dependents(known: GroupFacts, assets: Cell, parent: str, child: str) -> Cell:
    """Each child with how many parents depend on it; versions are ignored, each parent counts once."""
    if assets.value is None:
        return assets
    needs = [
        known.cell("ex.dependencies", *(str(asset.get(name)) for name in ("groupId", "assetId", "version")))
        for asset in assets_of_type(assets.value, parent)
    ]
    children = assets_of_type(assets.value, child)
    if needs and children and all(cell.value is None for cell in needs):
        return Cell(None, missing_state(needs))
    used = [{asset_id(dependency) for dependency in cell.value} for cell in needs if cell.value is not None]
    return Cell([(asset, sum(asset_id(asset) in names for names in used)) for asset in children], combined_state(needs))


def managed_assets(known: GroupFacts, environment: Environment) -> Cell:
    return derive(lambda found: [asset_id(asset) for asset in found], known.cell("apm.apis", environment.id))


def occurrences(
    known: GroupFacts,
    assets: Cell,
    kind: str,
    places: Sequence[Environment],
    names: Callable[[GroupFacts, Environment], Cell],
) -> Cell:
    """Each asset of a type with how often it appears in the environments."""
    if assets.value is None:
        return assets
    if known.environments_cell.value is None:
        return known.environments_cell
    cells = [names(known, environment) for environment in places]
    if cells and all(cell.value is None for cell in cells):
        return Cell(None, missing_state(cells))
    names_seen = [name for cell in cells if cell.value is not None for name in cell.value]
    found = [(asset, names_seen.count(asset_id(asset))) for asset in assets_of_type(assets.value, kind)]
    return Cell(found, combined_state(cells))
