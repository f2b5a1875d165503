"""PROV-JSON: every thing and link in its place, every URI a qualified name."""

import pytest

from pentad.kernel.provenance import Edge, LineageGraph, Thing, person, prov_json

OBJECT = Thing("openregister://objects/1/2/x", "entity", "object", "A hive", at=0.0, facts={"version": "2"})
TASK = Thing("agents://tasks/t", "activity", "task", "reviewer: go", at=0.0, ended_at=60.0)
AGENT = Thing("agents://cards/reviewer", "agent", "agent", "reviewer")


@pytest.mark.requirement("lineage:prov")
def test_a_lineage_is_prov_json() -> None:
    ada = person("user:ada")
    edges = [
        Edge(OBJECT.uri, "wasGeneratedBy", TASK.uri, 30.0, "create"),
        Edge(TASK.uri, "wasAssociatedWith", AGENT.uri),
        Edge(AGENT.uri, "actedOnBehalfOf", ada.uri),
    ]

    found = prov_json(LineageGraph([OBJECT, TASK, AGENT, ada], edges))

    assert found == {
        "prefix": {
            "agents": "agents:", "openregister": "openregister:", "pentad": "urn:pentad:prov:", "urn": "urn:",
        },
        "entity": {
            OBJECT.uri: {
                "pentad:type": "object", "prov:label": "A hive", "pentad:at": "1970-01-01T00:00:00.000Z",
                "pentad:version": "2",
            }
        },
        "activity": {
            TASK.uri: {
                "pentad:type": "task", "prov:label": "reviewer: go", "prov:startTime": "1970-01-01T00:00:00.000Z",
                "prov:endTime": "1970-01-01T00:01:00.000Z",
            }
        },
        "agent": {
            AGENT.uri: {
                "pentad:type": "agent", "prov:type": {"$": "prov:SoftwareAgent", "type": "xsd:QName"},
                "prov:label": "reviewer",
            },
            "urn:pentad:principal:user:ada": {
                "pentad:type": "person", "prov:type": {"$": "prov:Person", "type": "xsd:QName"},
                "prov:label": "user:ada",
            },
        },
        "wasGeneratedBy": {
            "_:wasGeneratedBy1": {
                "prov:entity": OBJECT.uri, "prov:activity": TASK.uri, "prov:time": "1970-01-01T00:00:30.000Z",
                "prov:role": "create",
            }
        },
        "wasAssociatedWith": {"_:wasAssociatedWith2": {"prov:activity": TASK.uri, "prov:agent": AGENT.uri}},
        "actedOnBehalfOf": {"_:actedOnBehalfOf3": {"prov:delegate": AGENT.uri, "prov:responsible": ada.uri}},
    }  # fmt: skip
