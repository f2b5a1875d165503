"""The trust policy as a tool, and the types that its routes share."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import tool
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.policy_service import PolicyState


class EntryArguments(Arguments):
    """A key or an issuer to trust."""

    name: Annotated[str, Field(description="Name that trusted_by shows.")] = ""
    namespace: Annotated[str, Field(description="Beginning of record names; empty: all.")] = ""
    key: Annotated[str | None, Field(description="Public key as PEM text.")] = None
    issuer: Annotated[str | None, Field(description="https origin whose published keys count.")] = None


class TrustArguments(EntryArguments):
    action: Literal["list", "add", "remove", "quarantined"] = "list"
    after: Annotated[str, Field(description="quarantined: continue after this CID.")] = ""


class Entry(BaseModel):
    """`problem` says why the keys of an issuer are not newer."""

    namespace: str
    name: str
    issuer: str | None = None
    checked_at: str | None = None
    fingerprints: list[str]
    problem: str | None = None
    created_by: str
    created_at: str


class HeldRecord(BaseModel):
    cid: str
    name: str
    version: str
    pushed_by: str
    reason: str


class PolicyView(BaseModel):
    """`quarantined` counts the records held back; `pending`: a change is still being applied to the records."""

    entries: list[Entry]
    quarantined: int
    pending: bool
    records: list[HeldRecord] | None = None


QUARANTINE_PAGE: Final = 100


@tool("directory_trust", title="Trust policy", action="admin", destructive=True, listed="room", open_world=True)
async def trust(arguments: TrustArguments, call: Call[Directory]) -> PolicyView:
    """Show or change whose signatures make a record trusted, or list the records in quarantine."""
    directory = call.service
    directory.require_local()
    match arguments.action:
        case "add":
            return await add_entry(directory, call.principal, arguments)
        case "remove":
            return await remove_entry(directory, arguments.name, arguments.namespace)
        case "quarantined":
            view = policy_view(await directory.policy.state())
            return view.model_copy(update={"records": await held_records(directory, arguments.after)})
        case "list":
            return policy_view(await directory.policy.state())


async def add_entry(directory: Directory, who: Principal, given: EntryArguments) -> PolicyView:
    """Trust a key or an issuer, and judge the records anew."""
    await directory.policy.add(who, given.name, given.namespace, key=given.key, issuer=given.issuer)
    return policy_view(await directory.policy.settle())


async def remove_entry(directory: Directory, name: str, namespace: str) -> PolicyView:
    """Trust a key or an issuer no longer, and judge the records anew."""
    if not name:
        raise InvalidInput("The name of the entry is missing.")
    await directory.policy.remove(name, namespace)
    return policy_view(await directory.policy.settle())


async def held_records(directory: Directory, after: str = "") -> list[HeldRecord]:
    found = await directory.policy.quarantined(QUARANTINE_PAGE, after)
    return [HeldRecord(**one._asdict()) for one in found]


def policy_view(state: PolicyState) -> PolicyView:
    told: dict[str, Any] = state.as_json()
    return PolicyView.model_validate(told)


TRUST_TOOLS: Final = (trust,)
