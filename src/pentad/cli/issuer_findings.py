"""What `pentad doctor` finds out about the issuers of tokens: can their keys be read, and why is a token refused."""

from typing import TYPE_CHECKING

from pentad.cli.findings import Finding
from pentad.kernel.errors import PentadError

if TYPE_CHECKING:
    from pentad.access.tokens import TokensOfIssuer, TokenVerifier
    from pentad.settings.model import Settings

_CHECK = "token issuer"


async def about_issuers(settings: "Settings", token: str | None = None) -> list[Finding]:
    """One line for each issuer; one more for a token whose fate is asked for."""
    issuers = settings.trusted_issuers()
    if not issuers:
        return [] if token is None else [Finding("token", "fail", "No token is accepted.", "Set jwt.issuer.")]
    from pentad.access.tokens import TokenVerifier
    from pentad.net.fetch import HttpFetcher

    fetcher = HttpFetcher(settings.fetch)
    try:
        tokens = TokenVerifier(issuers, fetcher)
        found = [await _about_issuer(one) for one in tokens.issuers.values()]
        return found if token is None else [*found, await _about_token(tokens, token)]
    except PentadError as error:
        return [Finding(_CHECK, "fail", error.message, error.hint or "Correct the settings of jwt.")]
    finally:
        await fetcher.close()


async def _about_issuer(one: "TokensOfIssuer") -> Finding:
    issuer, keys = one.issuer, one.keys
    if keys is None:
        return Finding(_CHECK, "ok", f"{issuer.issuer} shares a secret; there are no keys to read.")
    await keys.refresh()
    if keys.trouble is not None:
        fix = f"Check {issuer.keys_setting}, and that this machine reaches it."
        return Finding(_CHECK, "fail", f"{issuer.issuer} has no keys for us: {keys.trouble}", fix)
    unusable = one.unusable_algorithms()
    text = f"{issuer.issuer} has {len(keys.key_ids)} usable keys at {keys.source}."
    if len(unusable) == len(issuer.algorithms):
        fix = f"Set {issuer.place}.algorithms to what the issuer signs with."
        return Finding(_CHECK, "fail", f"{text} None fits {', '.join(unusable)}.", fix)
    return Finding(_CHECK, "ok", text)


async def _about_token(tokens: "TokenVerifier", token: str) -> Finding:
    from pentad.access.tokens import RefusedToken

    try:
        verdict = await tokens.verify(token)
    except PentadError as error:
        return Finding("token", "fail", error.message, error.hint or "")
    if isinstance(verdict, RefusedToken):
        return Finding("token", "fail", f"It is refused ({verdict.reason}). {verdict.text}", verdict.fix)
    who = verdict.principal
    scopes = " ".join(sorted(who.scopes))
    if not scopes:
        fix = "Map its roles or scopes in the settings roles and scopes of its issuer."
        return Finding("token", "warn", f"It is accepted as {who.id}, and may do nothing.", fix)
    return Finding("token", "ok", f"It is accepted as {who.id} with {scopes}.")
