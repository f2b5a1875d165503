"""Flat rows of an answer: promised names and order for an organisation, keys for everything else."""

import csv
import io
from typing import Any

import msgspec
import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.loaders.formats import COLUMNS, FORMATS, ExportOptions, csv_text, export_snapshot
from pentad.rooms.metrics.loaders.rows import Row, benefit_rows, snapshot_rows
from pentad.rooms.metrics.models import Info, Metric, Sample, Snapshot

AS_OF = 1_780_000_000.0
ORGANISATION: dict[str, Any] = {
    "date": "2026-05-28T20:26:40.000Z",
    "businessGroup": "Lumen, Orchards",
    "businessGroupId": "a1",
    "coreServicesMetrics": {
        "users": {"total": 2, "activeMembers": 1, "inactiveMembers": 1},
        "environments": {"total": 2, "production": 1, "sandbox": 1},
    },
    "runtimeManagerMetrics": {
        "cloudhub": {
            "networking": {"vpcsTotal": 3, "vpcsUsed": None, "vpcsAvailable": 2},
            "applications": {
                "production": {
                    "vcoresTotal": 4,
                    "vcoresAvailable": 3.7,
                    "details": [
                        {
                            "environmentName": "Live",
                            "environmentType": "Production",
                            "vcoresUsed": 0.3,
                            "applicationsTotal": 2,
                            "runtimesUsed": ["4.6.1", "4.4.0"],
                        }
                    ],
                },
                "sandbox": {"vcoresTotal": 8, "details": [{"environmentName": "Trial", "vcoresUsed": 0.1}]},
            },
        }
    },
    "apiManagerMetrics": {
        "clients": 1,
        "apis": {
            "production": {
                "details": [
                    {"environmentName": "Live", "total": 2, "transactions": 150},
                    {"environmentName": "Live 2", "total": 1, "transactions": 7},
                ]
            }
        },
    },
    "errors": [],
}
ORG = Snapshot(collector="ch", scope="a1", as_of=AS_OF, tree=[ORGANISATION])
HOST = Snapshot(
    collector="host",
    scope="",
    as_of=AS_OF,
    tree={"memory": {"used": 5}},
    samples=[
        Sample(key="memory.used", value=5, unit="By"),
        Sample(key="disks.used", value=7, unit="By", labels=(("id", "/"),)),
        Sample(key="network.sentBytes", value=9, unit="By"),
        Sample(key="system.os", value="Linux"),
        Sample(key="cpu.percent", value=None, state="no_permission"),
    ],
)
INFO = Info(
    id="host",
    title="This machine",
    description="x",
    catalogue=(
        Metric(key="memory.used", description="Memory in use.", unit="By"),
        Metric(key="network.sentBytes", description="Bytes sent.", unit="By", kind="counter"),
    ),
)


@pytest.mark.requirement("metrics:loaders:rows")
def test_rows_of_an_organisation_have_their_names_groups_and_environments_in_order() -> None:
    rows = [
        (row.group, row.name, row.value, row.environment_type, row.environment_name)
        for row in snapshot_rows(ORG, "CloudHub")
    ]
    assert rows == [
        ("Access Management", "Users Total", 2, "NA", "NA"),
        ("Access Management", "Active Users", 1, "NA", "NA"),
        ("Access Management", "Inactive Users", 1, "NA", "NA"),
        ("Access Management", "Environments Total", 2, "NA", "NA"),
        ("Access Management", "Environments Production Total", 1, "NA", "NA"),
        ("Access Management", "Environments Sandbox Total", 1, "NA", "NA"),
        ("Runtime Manager - CloudHub", "CloudHub VPCs Total", 3, "NA", "NA"),
        ("Runtime Manager - CloudHub", "CloudHub VPCs Available Total", 2, "NA", "NA"),
        ("API Manager", "API Manager Client Applications Total", 1, "NA", "NA"),
        ("Runtime Manager - CloudHub", "CloudHub vCores Total", 4, "Production", "NA"),
        ("Runtime Manager - CloudHub", "CloudHub vCores Available Total", 3.7, "Production", "NA"),
        ("Runtime Manager - CloudHub", "CloudHub vCores Total", 8, "Sandbox", "NA"),
        ("API Manager", "API Manager API Specs Managed Total", 2, "Production", "Live"),
        ("API Analytics", "API Analytics Transactions Last 30 days Total", 150, "Production", "Live"),
        ("API Manager", "API Manager API Specs Managed Total", 1, "Production", "Live 2"),
        ("API Analytics", "API Analytics Transactions Last 30 days Total", 7, "Production", "Live 2"),
        ("Runtime Manager - CloudHub", "CloudHub vCores Used Total", 0.3, "Production", "Live"),
        ("Runtime Manager - CloudHub", "CloudHub Applications Total", 2, "Production", "Live"),
        ("Runtime Manager - CloudHub", "CloudHub Runtime Versions Used", "4.6.1 4.4.0", "Production", "Live"),
        ("Runtime Manager - CloudHub", "CloudHub vCores Used Total", 0.1, "Sandbox", "Trial"),
    ], "a value that could not be had has no row"


def test_rows_of_other_collectors_are_keys_with_their_labels() -> None:
    rows = snapshot_rows(HOST, "This machine")
    assert [(row.name, row.group, row.business_group) for row in rows][:2] == [
        ("memory.used", "This machine", "NA"),
        ("disks.used[id=/]", "This machine", "NA"),
    ]
    assert "cpu.percent" not in {row.name for row in rows}, "a value that could not be had has no row"


def test_benefits_have_rows_of_their_own() -> None:
    rows = benefit_rows([{"businessGroup": "B", "developerProductivity": 120.0, "totalSavings": None}], AS_OF)
    assert [(row.group, row.name, row.value) for row in rows] == [
        ("Platform Benefits", "Developers Productivity", 120.0)
    ]


@pytest.mark.requirement("metrics:loaders:files")
def test_csv_json_and_ndjson_hold_the_same_rows() -> None:
    table = list(csv.DictReader(io.StringIO(export_snapshot("csv", ORG, INFO).body)))
    objects = msgspec.json.decode(export_snapshot("json", ORG, INFO).body)
    lines = [msgspec.json.decode(line) for line in export_snapshot("ndjson", ORG, INFO).body.splitlines()]
    assert objects == lines
    assert list(objects[0]) == list(COLUMNS)
    assert [{name: str(value) for name, value in one.items()} for one in objects] == table
    assert export_snapshot("csv", ORG, INFO).records == len(objects) == 20


def test_a_spreadsheet_takes_no_text_for_a_formula() -> None:
    row = Row("=cmd()", "@x", "+group", "2026", "-g")
    cells = next(csv.reader([csv_text([row]).splitlines()[1]]))
    assert cells[:3] == ["'=cmd()", "'@x", "'+group"]
    assert csv_text([Row("n", -5, "g", "d", "g")]).splitlines()[1].startswith("n,-5,"), "a number is no text"


@pytest.mark.requirement("metrics:loaders:telemetry")
def test_the_exposition_names_types_units_and_labels_and_leaves_out_what_is_no_number() -> None:
    assert export_snapshot("prometheus", HOST, INFO).body.splitlines() == [
        "# HELP pentad_host_memory_used_bytes Memory in use.",
        "# TYPE pentad_host_memory_used_bytes gauge",
        "pentad_host_memory_used_bytes 5",
        "# HELP pentad_host_disks_used_bytes disks.used",
        "# TYPE pentad_host_disks_used_bytes gauge",
        'pentad_host_disks_used_bytes{id="/"} 7',
        "# HELP pentad_host_network_sent_bytes_total Bytes sent.",
        "# TYPE pentad_host_network_sent_bytes_total counter",
        "pentad_host_network_sent_bytes_total 9",
    ]
    strange = Snapshot(
        collector="c", scope="", as_of=1, tree={}, samples=[Sample(key="k", value=1, labels=(("n", 'a"b\\c\nd'),))]
    )
    assert export_snapshot("prometheus", strange, INFO).body.splitlines()[2] == 'pentad_c_k{n="a\\"b\\\\c\\nd"} 1'


@pytest.mark.requirement("metrics:loaders:telemetry")
def test_otlp_tells_gauges_and_sums_with_their_moment() -> None:
    (resource,) = msgspec.json.decode(export_snapshot("otlp", HOST, INFO).body)["resourceMetrics"]
    (scope,) = resource["scopeMetrics"]
    by_name = {one["name"]: one for one in scope["metrics"]}
    assert set(by_name) == {"host.memory.used", "host.disks.used", "host.network.sentBytes"}
    (point,) = by_name["host.memory.used"]["gauge"]["dataPoints"]
    assert point == {"timeUnixNano": "1780000000000000000", "attributes": [], "asInt": "5"}
    assert by_name["host.network.sentBytes"]["sum"]["isMonotonic"] is True
    assert by_name["host.disks.used"]["gauge"]["dataPoints"][0]["attributes"] == [
        {"key": "id", "value": {"stringValue": "/"}}
    ]


@pytest.mark.requirement("metrics:loaders:searches")
def test_splunk_and_elastic_get_one_document_for_each_group() -> None:
    event = msgspec.json.decode(export_snapshot("splunk", ORG, INFO, ExportOptions("s", "t", "i")).body)
    assert event == {"time": AS_OF, "source": "s", "sourcetype": "t", "index": "i", "event": ORGANISATION}
    action, document = map(msgspec.json.decode, export_snapshot("elastic", ORG, INFO).body.splitlines())
    assert (action, document) == ({"index": {}}, ORGANISATION)
    assert msgspec.json.decode(export_snapshot("elastic", HOST, INFO).body.splitlines()[1])["metrics"] == {
        "memory": {"used": 5}
    }


def test_a_webhook_gets_the_tree_with_its_coverage() -> None:
    body = msgspec.json.decode(export_snapshot("webhook", HOST, INFO).body)
    assert body["metrics"] == {"memory": {"used": 5}}
    assert body["coverage"]["planned"] == 0
    assert body["problems"] == []


def test_an_unknown_format_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput) as refused:
        export_snapshot("cvs", HOST, INFO)
    assert "Did you mean 'csv'?" in refused.value.message
    assert ", ".join(FORMATS) in str(refused.value.hint)
