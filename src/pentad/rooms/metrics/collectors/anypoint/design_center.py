"""Design Center: projects by what they are."""

from pentad.rooms.metrics.collectors.anypoint.cells import Node, made
from pentad.rooms.metrics.collectors.anypoint.known import Known


def design_center(known: Known) -> dict[str, Node]:
    projects = known.cell("dc.projects")
    kinds = {"apiSpecs": "raml", "fragments": "raml-fragment", "flowDesignerApps": "Mule_Application"}
    return {
        "total": made(len, projects),
        **{
            key: made(lambda found, kind=kind: sum(1 for project in found if project.get("type") == kind), projects)
            for key, kind in kinds.items()
        },
    }
