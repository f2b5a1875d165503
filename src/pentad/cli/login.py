"""`pentad login` and `pentad logout`: a login at a server for every verb with `--url` (RFC 8628)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.terminal.output import print_text, say, warn

if TYPE_CHECKING:
    from pentad.kernel.ports import Fetcher
    from pentad.terminal.saved_logins import SavedLogin

_DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER: Final = 5.0
_LONGEST_PAUSE: Final = 60.0

Pause = Callable[[float], Awaitable[None]]


@click.command()
@click.argument("url")
@click.option("--read-only", is_flag=True, help="Request read access only.")
@click.option("--admin", is_flag=True, help="Request administration rights, too.")
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
def login(url: str, read_only: bool, admin: bool, no_open: bool) -> None:
    """Log in at a server, for every verb with --url.

    Approve the login in a browser, on any machine. `pentad logout` ends it.
    """
    from pentad.terminal.browser import open_browser
    from pentad.terminal.client import fetcher_for
    from pentad.terminal.saved_logins import origin_of, saved_logins

    scopes = ["*:read", *([] if read_only else ["*:write"]), *(["*:admin"] if admin else [])]
    logins = saved_logins()

    def show(code: str, page: str, complete: str | None) -> None:
        say(f"Open {page} in a browser and enter the code {code}")
        say("Waiting for your approval. Ctrl-C stops.")
        if not no_open:
            open_browser(complete or page)

    async def run() -> None:
        fetcher = fetcher_for(url)
        try:
            logins.save(await log_in(url, " ".join(scopes), fetcher, show))
        finally:
            await fetcher.close()

    asyncio.run(run())
    say(f"Logged in at {origin_of(url)}.")


@click.command()
@click.argument("url", required=False)
def logout(url: str | None) -> None:
    """Log out of a server, or of all of them."""
    from pentad.terminal.client import fetcher_for
    from pentad.terminal.saved_logins import origin_of, revoke, saved_logins

    logins = saved_logins()
    wanted = None if url is None else origin_of(url)
    found = [one for one in logins.all() if wanted in (None, one.issuer)]

    async def end(one: "SavedLogin") -> bool:
        fetcher = fetcher_for(one.issuer)
        try:
            return await revoke(one, fetcher)
        finally:
            await fetcher.close()

    for one in found:
        heard = asyncio.run(end(one))
        logins.remove(one)
        print_text(f"Logged out of {one.issuer}.")
        if not heard:
            warn(f"{one.issuer} could not be reached; end the login in its console.")
    if not found:
        say("There are no saved logins." if wanted is None else f"There is no saved login at {wanted}.")


async def log_in(
    url: str,
    scope: str,
    fetcher: "Fetcher",
    show: Callable[[str, str, str | None], None],
    *,
    pause: Pause = asyncio.sleep,
    now: Callable[[], float] = time.time,
) -> "SavedLogin":
    """Get a code from the server, show it, and wait until a person approves the login."""
    from pentad.kernel.errors import Unavailable
    from pentad.terminal.saved_logins import CLIENT_ID, SavedLogin, discovered, origin_of, post_form

    endpoints = await discovered(url, fetcher)
    asked = {"client_id": CLIENT_ID, "scope": scope}
    status, codes = await post_form(fetcher, endpoints["device_authorization_endpoint"], asked)
    if status != 200 or not all(isinstance(codes.get(key), str) for key in ("device_code", "user_code")):
        raise Unavailable(f"The server sent no code: {_reason(status, codes)}")
    page, complete = str(codes.get("verification_uri")), codes.get("verification_uri_complete")
    show(codes["user_code"], page, complete if isinstance(complete, str) else None)
    blank = SavedLogin(origin_of(url), endpoints["token_endpoint"], "", 0.0, None, endpoints.get("revocation_endpoint"))
    fields = {"grant_type": _DEVICE_GRANT, "device_code": codes["device_code"], "client_id": CLIENT_ID}
    interval, seconds = _number(codes.get("interval"), 5.0), _number(codes.get("expires_in"), 600.0)
    answer = await _poll(fetcher, blank.token_endpoint, fields, interval, now() + seconds, pause=pause, now=now)
    return blank.with_tokens(answer, now())


async def _poll(
    fetcher: "Fetcher",
    url: str,
    fields: dict[str, str],
    interval: float,
    until: float,
    *,
    pause: Pause,
    now: Callable[[], float],
) -> dict[str, Any]:
    """Poll until the person has decided, more slowly if the server asks for that or does not answer."""
    from pentad.kernel.errors import Forbidden, Unauthenticated, Unavailable
    from pentad.terminal.saved_logins import post_form

    while now() < until:
        await pause(interval)
        try:
            status, answer = await post_form(fetcher, url, fields)
        except Unavailable:
            interval = min(interval * 2, _LONGEST_PAUSE)
            continue
        error = answer.get("error")
        if status == 200:
            return answer
        if error == "access_denied":
            raise Forbidden("The login was denied in the browser.")
        if error == "expired_token":
            break
        if error == "slow_down" or status in (429, 503):
            interval += _SLOWER
        elif error != "authorization_pending":
            raise Unauthenticated(f"The server refused the login: {_reason(status, answer)}")
    raise Unauthenticated(
        "The code has expired.", hint="Run the command again and approve the login within ten minutes."
    )


def _reason(status: int, answer: dict[str, Any]) -> str:
    return str(answer.get("error_description") or answer.get("error") or f"it answered {status}")[:300]


def _number(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else otherwise
