"""The directory of this process as the node that the record tools use."""

import subprocess
import sys
from pathlib import Path

import pytest

from pentad.kernel.errors import Misconfigured, NotFound
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.remote.node import RemoteNode
from pentad.rooms.directory.search.query import Filter, FilterKind, Query
from pentad.rooms.directory.service import LOCAL_ADDRESS, LocalNode
from tests.rooms.directory.interface.grpc.site import Site, open_site
from tests.rooms.directory.records.parts import agent

pytestmark = pytest.mark.anyio
UNKNOWN = "baeareifx2kwsn23pstno64xnd23rgxxs2oc7eam7klockwijurxisnvgmu"


async def test_the_embedded_directory_is_the_default(site: Site) -> None:
    node = site.directory.node
    assert (type(node), node.address) == (LocalNode, LOCAL_ADDRESS)
    data = agent()
    pushed = await node.push(LOCAL, data)
    assert (pushed.new, (await node.push(LOCAL, data)).new) == (True, False)
    assert (await node.pull(pushed.cid)).data == data
    assert [one.cid for one in await node.pull_many([UNKNOWN, pushed.cid])] == [pushed.cid]
    found = await node.search(Query((Filter(FilterKind.NAME, data["name"]),)))
    assert [hit.cid for hit in found.hits] == [pushed.cid]
    with pytest.raises(NotFound):
        await node.pull(UNKNOWN)
    assert not (await node.verify(pushed.cid)).success
    assert not (await node.verify_name(pushed.cid, None, None)).verified


async def test_naming_another_directory_sends_everything_there(tmp_path: Path) -> None:
    async with open_site(tmp_path, settings={"client_server_address": "127.0.0.1:8888"}) as site:
        node = site.directory.node
        assert (type(node), node.address) == (RemoteNode, "127.0.0.1:8888")


async def test_an_unsupported_mode_is_told_when_the_room_opens(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="unsupported"):
        async with open_site(tmp_path, settings={"client_server_address": "x:1", "client_auth_mode": "github"}):
            pass


def test_the_embedded_node_loads_no_grpc() -> None:
    code = "import sys, pentad.rooms.directory.service; sys.exit(bool({'grpc', 'google'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
