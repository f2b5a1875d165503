"""From what a caller writes to the record it means: a CID, or `name[:version][@cid]`.

A CID is pulled from whatever directory is in use. Names, lineage and signatures are the embedded directory's alone: a
remote one is asked for records, not for its history.
"""

from pentad.kernel.cid import is_cid
from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.models import NamedRef, Record
from pentad.rooms.directory.node import LocalNode
from pentad.rooms.directory.service import Directory


async def record_meant(directory: Directory, reference: str) -> Record:
    """The record itself."""
    given = reference.strip()
    if is_cid(given):
        return await directory.node.pull(given)
    return await directory.records.pull((await ref_meant(directory, given)).cid)


async def ref_meant(directory: Directory, reference: str) -> NamedRef:
    """Name, version and CID of the record, which is kept here."""
    here_only(directory)
    return await directory.naming.find(reference)


def here_only(directory: Directory) -> None:
    """Refuse what only the embedded directory can do where another one is in use."""
    if not isinstance(directory.node, LocalNode):
        raise InvalidInput(
            f"This needs the directory of this server, but the one at {directory.node.address} is in use.",
            hint="Pull the record by its CID, or unset DIRECTORY_CLIENT_SERVER_ADDRESS.",
        )
