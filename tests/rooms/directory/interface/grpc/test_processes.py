"""The gRPC server in real processes: announced, shared by workers, and with a clear error for a port in use."""

import signal
from pathlib import Path

import grpc
import pytest

from pentad.cli.demo import demo_settings
from pentad.rooms.directory.settings import DirectorySettings
from pentad.rooms.directory.wire.protos import core_pb2, search_pb2
from pentad.settings.rooms import resolve_room
from tests.cli.processes import child, run
from tests.ports import free_port
from tests.rooms.directory.interface.grpc.site import ROOM, record_of
from tests.rooms.directory.records.parts import agent

pytestmark = pytest.mark.interop

SERVE = ("serve", "--port", "0", "--auth", "none", "--rooms", ROOM)


def pushed(port: int) -> str:
    """Over a connection of its own."""
    local = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=local) as channel:
        push = channel.stream_stream(
            "/agntcy.dir.store.v1.StoreService/Push",
            core_pb2.Record.SerializeToString,
            core_pb2.RecordRef.FromString,
        )
        (ref,) = push(iter([record_of(agent())]), timeout=20)
        return str(ref.cid)


def counted(port: int) -> int:
    local = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=local) as channel:
        count = channel.unary_unary(
            "/agntcy.dir.search.v1.SearchService/CountRecords",
            search_pb2.CountRecordsRequest.SerializeToString,
            search_pb2.CountRecordsResponse.FromString,
        )
        return int(count(search_pb2.CountRecordsRequest(), timeout=20).total_count)


def test_serve_tells_the_address_and_ends_at_once_although_somebody_listens(tmp_path: Path) -> None:
    port = free_port()
    with child(*SERVE, "--grpc-port", str(port), "--data", "d", home=tmp_path) as server:
        line = server.line("Pentad is ready at")
        assert line.endswith(f", gRPC: 127.0.0.1:{port})")
        assert len(pushed(port)) == 59
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            events = channel.unary_stream("/agntcy.dir.events.v1.EventService/Listen")(b"", timeout=60)
            events.initial_metadata()
            assert server.end(signal.SIGTERM) == 0
            assert events.code() is grpc.StatusCode.UNAVAILABLE
    assert "Traceback" not in "\n".join(server.stderr)


def test_workers_share_the_port(tmp_path: Path) -> None:
    port = free_port()
    args = (*SERVE, "--grpc-port", str(port), "--workers", "2", "--data", "d")
    with child(*args, home=tmp_path) as server:
        assert f"gRPC: 127.0.0.1:{port}" in server.line("Pentad is ready at")
        for number in range(1, 7):
            pushed(port)
            assert counted(port) == number
        assert server.end(signal.SIGINT) == 0
    assert "Traceback" not in "\n".join(server.stderr)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_taken_port_is_one_sentence(tmp_path: Path, workers: str) -> None:
    port = free_port()
    with child(*SERVE, "--grpc-port", str(port), "--data", "d", home=tmp_path) as server:
        server.line("Pentad is ready at")
        done = run(*SERVE, "--grpc-port", str(port), "--workers", workers, "--data", "other", home=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"127.0.0.1:{port} is already in use." in done.stderr
        assert "choose another --grpc-port" in done.stderr


def test_the_demo_lets_anybody_on_this_machine_in_by_grpc(tmp_path: Path) -> None:
    settings = demo_settings(0, 8888, tmp_path)
    assert resolve_room(settings, "directory", DirectorySettings).values.grpc_auth == "none"
    assert (settings.host, settings.auth) == ("127.0.0.1", "required")
