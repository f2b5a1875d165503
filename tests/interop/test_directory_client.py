"""The directory's own client against Pentad's gRPC server: its published tests, and our own tour."""

import json
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor

from pentad.rooms.directory.wire.protos import core_pb2
from tests.conformance.server import serving
from tests.interop.environments import directory_python
from tests.ports import free_port
from tests.rooms.directory.interface.grpc.site import METHODS, MODULES, ROOM

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SCRIPT = Path(__file__).with_name("directory_client.py")
SUITE = "agntcy.dir_sdk.client.test_client.TestClient"
TESTS = (
    "push", "pull", "lookup", "publish", "list", "search", "unpublish", "delete", "push_referrer", "pull_referrer",
    "sync", "listen", "publication", "resolve", "get_verification_info",
)  # fmt: skip
"""The whole suite except sign_and_verify, which needs two programs that no package contains (dirctl, cosign)."""


@pytest.fixture(scope="module")
def client() -> Path:
    return directory_python()


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    port = free_port()
    with serving(ROOM, ["--grpc-port", str(port)]):
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def seen(client: Path, address: str) -> dict[str, Any]:
    """The client's results, by stop."""
    done = subprocess.run([client, SCRIPT, "tour", address], capture_output=True, text=True, timeout=120, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    failed = [line for line in lines if "failed" in line]
    assert not failed, f"{failed}\n{done.stderr}"
    return {line["stop"]: line["saw"] for line in lines}


@pytest.mark.parametrize("test", TESTS)
def test_the_clients_own_test_passes(client: Path, address: str, test: str, tmp_path: Path) -> None:
    environment = {"DIRECTORY_CLIENT_SERVER_ADDRESS": address, "DIRCTL_PATH": "not-needed", "PATH": "/usr/bin:/bin"}
    command = [client, "-m", "unittest", f"{SUITE}.test_{test}"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 1 test" in done.stderr


def test_the_suite_has_no_test_we_do_not_know(client: Path) -> None:
    code = (
        "import unittest\n"
        f"from {SUITE.rpartition('.')[0]} import TestClient\n"
        "print(*unittest.defaultTestLoader.getTestCaseNames(TestClient))"
    )
    done = subprocess.run([client, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert sorted(done.stdout.split()) == sorted(f"test_{name}" for name in (*TESTS, "sign_and_verify"))


def test_records_come_back_as_they_were_pushed(seen: dict[str, Any]) -> None:
    assert seen["push"] == {"same": True, "lengths": [59, 59]}
    assert seen["pull"] is True
    assert [meta["version"] for meta in seen["lookup"]] == ["v1.0.0", "v2.0.0"]
    assert {meta["oasf-version"] for meta in seen["lookup"]} == {"0.7.0"}


def test_records_are_found_and_resolved_newest_first(seen: dict[str, Any]) -> None:
    assert seen["search_cids"] == [True, True]
    assert seen["search_records"] is True
    assert seen["resolve"] == [["v2.0.0", True], ["v1.0.0", True]]


def test_published_records_are_listed_until_they_are_unpublished(seen: dict[str, Any]) -> None:
    labels, other = seen["publish"]
    assert "/domains/technology/networking" in labels
    assert other is None
    assert seen["unpublish"] == [None, None]
    assert seen["publication"] == ["PUBLICATION_STATUS_COMPLETED", True, True]


def test_referrers_come_back(seen: dict[str, Any]) -> None:
    assert seen["referrers"] == [[True, True], [{"key": "key 0"}, {"key": "key 1"}]]


def test_a_push_is_heard_with_its_labels(seen: dict[str, Any]) -> None:
    kind, labels = seen["listen"]
    assert kind == "EVENT_TYPE_RECORD_PUSHED"
    assert "/locators/docker_image" in labels


def test_syncs_and_verification_answer(seen: dict[str, Any]) -> None:
    assert seen["sync"] == [True, True, True]
    assert seen["verification"] == [False, "no verification found"]


def test_refusals_reach_the_client(seen: dict[str, Any]) -> None:
    code, text = seen["invalid"]
    assert (code, text.startswith("record validation failed: [")) == ("INVALID_ARGUMENT", True)
    code, text = seen["delete"]
    assert (code, text.startswith("failed to pull record: record not found: ")) == ("NOT_FOUND", True)


def test_every_message_the_client_knows_is_ours_too(client: Path) -> None:
    """Names, numbers and types; except for the one field with two meanings, which is bytes here."""
    done = subprocess.run([client, SCRIPT, "messages"], capture_output=True, text=True, timeout=60, check=True)
    theirs = json.loads(done.stdout)
    messages: dict[str, Descriptor] = {}
    enums: dict[str, dict[str, int]] = {}
    for module in (core_pb2, *MODULES):
        messages |= {one.full_name: one for one in module.DESCRIPTOR.message_types_by_name.values()}
        for enum in module.DESCRIPTOR.enum_types_by_name.values():
            enums[enum.full_name] = {value.name: value.number for value in enum.values}
    for name, fields in theirs["messages"].items():
        ours = {field.name: [field.number, field.type, field.is_repeated] for field in messages[name].fields}
        if name.endswith(".PushReferrerRequest"):
            del fields["referrer"]
        assert fields.items() <= ours.items(), name
    for name, values in theirs["enums"].items():
        assert values.items() <= enums[name].items(), name
    served = {
        method.full_name: [
            method.input_type.full_name, method.output_type.full_name, method.client_streaming, method.server_streaming
        ]
        for method in METHODS.values()
    }  # fmt: skip
    assert theirs["methods"].items() <= served.items()
    assert len(theirs["methods"]) >= 24
