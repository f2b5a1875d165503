"""The trust service as the gRPC server and tools use it; it loads no cryptography before first use."""

import subprocess
import sys

import pytest

from pentad.rooms.directory.trust.service import Trust
from tests.rooms.directory.records.parts import WHO
from tests.rooms.directory.trust.key_files import private_pem
from tests.rooms.directory.trust.opening import Site


def test_cryptography_is_not_loaded_with_the_service():
    program = "import sys, pentad.rooms.directory.trust.service; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.anyio
async def test_the_servers_can_ask_it(site: Site):
    trust: Trust = site.trust
    cid = await site.push(name="https://example.org/agent")
    await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    assert (await trust.verify(cid)).success
    assert not (await trust.verify_name(cid, None, None)).verified
    assert not (await trust.verification_info(None, "example.org/agent", None)).verified
