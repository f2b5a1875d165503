"""Resolves what a caller writes, a CID or `name[:version][@cid]`, to a record.

A CID is pulled from the directory in use. Names, lineage and signatures need the local directory: a remote one is asked
for records, not for their history.
"""

from pentad.kernel.cid import is_cid
from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.models import NamedRef, Record
from pentad.rooms.directory.node import LocalNode
from pentad.rooms.directory.service import Directory


async def find_record(directory: Directory, reference: str) -> Record:
    """The record that a reference names."""
    given = reference.strip()
    if is_cid(given):
        return await directory.node.pull(given)
    return await directory.records.pull((await resolve_reference(directory, given)).cid)


async def resolve_reference(directory: Directory, reference: str) -> NamedRef:
    """Name, version and CID of a record in the local directory."""
    require_local_directory(directory)
    return await directory.naming.find(reference)


def require_local_directory(directory: Directory) -> None:
    """Raise InvalidInput if a remote directory is in use."""
    if not isinstance(directory.node, LocalNode):
        raise InvalidInput(
            f"This needs the directory of this server, but the one at {directory.node.address} is in use.",
            hint="Pull the record by its CID, or unset DIRECTORY_CLIENT_SERVER_ADDRESS.",
        )
