"""Tools that change what the directory keeps: sign a record with the server's key, or delete one. Pentad's own."""

import asyncio
from typing import Final

from pydantic import BaseModel

from pentad.mcp.call import Call
from pentad.mcp.declare import tool
from pentad.rooms.directory.history_tools import ReferenceArguments
from pentad.rooms.directory.referring import ref_meant
from pentad.rooms.directory.service import Directory


class Signed(BaseModel):
    """`public_key` is the PEM text to give to those who want to check the signature by key."""

    cid: str
    algorithm: str
    signed_at: str
    signature: str
    public_key: str


class Deleted(BaseModel):
    cid: str
    deleted: bool


@tool("directory_sign", title="Sign a record", destructive=False, idempotent=True)
async def sign(arguments: ReferenceArguments, call: Call[Directory]) -> Signed:
    """Signs a record with this server's own key and attaches signature and public key to the record.

    The private key is made on first use and never leaves the server. `agntcy_dir_verify_record` checks signatures.
    """
    directory = call.service
    found = await ref_meant(directory, arguments.reference)
    key = await directory.signing_keys.private_key()
    signature = await directory.trust.sign(call.principal, found.cid, key)
    public = await asyncio.to_thread(_public, key)
    return Signed(
        cid=found.cid,
        algorithm=signature.algorithm,
        signed_at=signature.signed_at,
        signature=signature.signature,
        public_key=public,
    )


@tool("directory_delete", title="Delete a record", destructive=True, idempotent=True)
async def delete(arguments: ReferenceArguments, call: Call[Directory]) -> Deleted:
    """Deletes one record with its signatures, for good. Other versions of the same name stay."""
    found = await ref_meant(call.service, arguments.reference)
    return Deleted(cid=found.cid, deleted=await call.service.records.delete(call.principal, found.cid))


def _public(private_key: str) -> str:
    from pentad.rooms.directory.trust.keys import read_private_key

    return read_private_key(private_key).public.pem


KEEPING_TOOLS: Final = (sign, delete)
