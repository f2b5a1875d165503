"""A session is worth what its cookie proves: for some hours, until it ends anywhere, and never the cookie of before."""

import asyncio
import hashlib
import logging

import pytest

from pentad.access.browser_sessions import (
    LINK_PREFIX,
    LINK_SECONDS,
    MOST_EACH,
    SESSION_PREFIX,
    VISITOR_PREFIX,
    BrowserSession,
    BrowserSessions,
)
from pentad.access.passwords import Passwords
from pentad.access.users import Users
from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Database
from pentad.kernel.principal import ANONYMOUS
from pentad.kernel.secrets.text import scrub_text
from tests.access.clocks import TurnedClock
from tests.waiting import until_true

pytestmark = pytest.mark.anyio

HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture
async def users(db: Database, passwords: Passwords) -> Users:
    users = Users(db, passwords)
    await users.add("Ada", "correct horse battery", role="writer")
    await users.add("bob", "correct horse battery", role="admin")
    return users


async def logged_in(sessions: BrowserSessions, user: str = "ada") -> tuple[str, BrowserSession]:
    session = await sessions.find(None)
    await sessions.log_in(session, user, "password", browser="Firefox", address="192.0.2.1")
    assert session.new_token
    return session.new_token, session


@pytest.mark.requirement("login:session")
async def test_a_session_is_the_user_with_its_current_rights(db: Database, users: Users) -> None:
    sessions = BrowserSessions(db)
    token, _ = await logged_in(sessions)
    found = await sessions.find(token)
    assert (found.user, found.method, found.principal.id) == ("Ada", "password", "user:ada")
    assert found.principal.credential == f"session:{found.id}"
    assert found.principal.may("directory", "write")
    assert not found.principal.may("directory", "admin")
    assert found.new_token is None, "the cookie stays as it is"


@pytest.mark.requirement("login:session:stored-hashed")
async def test_the_cookie_is_stored_as_its_hash_and_shown_nowhere(
    db: Database, users: Users, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    sessions = BrowserSessions(db)
    token, session = await logged_in(sessions)
    stored = await db.read(lambda rows: rows.all("SELECT * FROM browser_sessions"))
    shown = repr(stored) + repr(session) + repr(session.login) + repr(await sessions.all()) + caplog.text
    assert token.removeprefix(SESSION_PREFIX) not in shown
    assert session.csrf not in shown
    assert bytes(stored[0][0]) == hashlib.sha256(token.encode()).digest()
    assert len(token.removeprefix(SESSION_PREFIX)) >= 43
    assert token not in scrub_text(f"got {token} here")


@pytest.mark.requirement("login:session:rotated")
async def test_a_login_makes_a_new_token_and_ends_the_old_login(db: Database, users: Users) -> None:
    sessions = BrowserSessions(db)
    first, _ = await logged_in(sessions, "bob")
    session = await sessions.find(first)
    csrf = session.csrf
    await sessions.log_in(session, "ada", "password")
    assert session.new_token not in (None, "", first)
    assert session.csrf != csrf
    assert (await sessions.find(first)).login is None
    assert [one.user for one in await sessions.all()] == ["Ada"]


@pytest.mark.requirement("login:session:rotated")
async def test_a_planted_token_is_worth_nothing_after_the_login(db: Database, users: Users) -> None:
    sessions = BrowserSessions(db)
    for planted in (SESSION_PREFIX + "x" * 43, VISITOR_PREFIX + "x" * 43, "x"):
        session = await sessions.find(planted)
        assert session.login is None
        await sessions.log_in(session, "ada", "password")
        assert (await sessions.find(planted)).login is None


@pytest.mark.requirement("login:session:expiry")
async def test_a_session_ends_when_unused_and_at_the_latest_after_its_days(db: Database, users: Users) -> None:
    clock = TurnedClock()
    sessions = BrowserSessions(db, idle_hours=12, longest_days=14, clock=clock)
    idle, _ = await logged_in(sessions)
    clock.advance(12 * HOUR - 1)
    assert (await sessions.find(idle)).user == "Ada"
    clock.advance(12 * HOUR - 1)
    assert (await sessions.find(idle)).user == "Ada", "the use before counted"
    clock.advance(12 * HOUR)
    assert (await sessions.find(idle)).login is None
    assert await sessions.all() == []
    busy, _ = await logged_in(sessions)
    for _ in range(14 * 4 - 1):
        clock.advance(DAY / 4)
        assert (await sessions.find(busy)).user == "Ada"
    clock.advance(DAY / 4)
    assert (await sessions.find(busy)).login is None
    await logged_in(sessions)
    left = await db.read(lambda rows: rows.value("SELECT COUNT(*) FROM browser_sessions"))
    assert left == 1, "expired sessions are deleted"


@pytest.mark.requirement("login:session:ends")
async def test_a_session_ends_with_a_new_password_its_user_and_by_hand(db: Database, users: Users) -> None:
    clock = TurnedClock()
    sessions = BrowserSessions(db, clock=clock)

    async def is_over(token: str) -> bool:
        clock.advance(10)  # past the cache of a process that heard nothing
        return (await sessions.find(token)).login is None

    token, _ = await logged_in(sessions)
    await users.set_password("ADA", "another horse battery")
    assert await is_over(token)
    token, _ = await logged_in(sessions)
    await users.remove("ada")
    assert await is_over(token)
    with pytest.raises(NotFound):
        await logged_in(sessions)
    tokens = [(await logged_in(sessions, "bob"))[0] for _ in range(3)]
    one, *others = await sessions.of_user("Bob")
    assert len(others) == 2
    assert await sessions.end(one.id)
    assert not await sessions.end(one.id)
    assert sum([await is_over(token) for token in tokens]) == 1
    assert await sessions.end_all("BOB") == 2
    assert all([await is_over(token) for token in tokens])


@pytest.mark.requirement("login:session:signalled")
async def test_other_processes_hear_that_a_session_has_ended(db: Database, other: Database, users: Users) -> None:
    clock = TurnedClock()  # it stands still: nothing is forgotten by age
    here, there = BrowserSessions(db, clock=clock), BrowserSessions(other, clock=clock)
    stop = there.follow(other)
    try:
        ends = (lambda: here.end_all("ada"), lambda: users.set_password("ada", "another horse battery"))
        for end in ends:
            token, _ = await logged_in(here)
            assert (await there.find(token)).user == "Ada"
            assert there.cached(token) is not None
            await end()
            await until_true(lambda token=token: there.cached(token) is None)
            assert (await there.find(token)).login is None
    finally:
        stop()


@pytest.mark.requirement("login:csrf")
async def test_a_csrf_token_fits_its_own_session_only(db: Database, users: Users) -> None:
    sessions = BrowserSessions(db)
    (_, ada), (_, bob) = await logged_in(sessions), await logged_in(sessions, "bob")
    visitor = await sessions.find(None)
    assert ada.accepts(ada.csrf)
    for wrong in (bob.csrf, visitor.csrf, "", ada.csrf[:-1], ada.csrf.upper(), ada.id, "ü"):
        assert not ada.accepts(wrong)
    assert not (await sessions.find(None)).accepts(""), "a browser without a cookie has no token"


async def test_a_visitor_has_a_csrf_token_but_no_row_and_no_rights(db: Database, users: Users) -> None:
    sessions = BrowserSessions(db)
    session = await sessions.find(None)
    assert session.new_token is None, "no cookie for those who need none"
    assert session.csrf
    assert session.new_token is not None
    assert session.new_token.startswith(VISITOR_PREFIX)
    again = await sessions.find(session.new_token)
    assert (again.csrf, again.id, again.principal) == (session.csrf, session.id, ANONYMOUS)
    assert await db.read(lambda rows: rows.value("SELECT COUNT(*) FROM browser_sessions")) == 0


@pytest.mark.requirement("login:session:ends")
async def test_a_user_has_a_limited_number_of_sessions(db: Database, users: Users) -> None:
    clock = TurnedClock()
    sessions = BrowserSessions(db, clock=clock)
    tokens: list[str] = []
    for _ in range(MOST_EACH + 3):
        clock.advance(1)
        tokens.append((await logged_in(sessions))[0])
    assert len(await sessions.all()) == MOST_EACH
    assert (await sessions.find(tokens[-1])).user == "Ada"
    assert [(await sessions.find(token)).login for token in tokens[:3]] == [None] * 3


async def test_oversized_and_odd_cookies_are_no_session(db: Database, users: Users) -> None:
    sessions = BrowserSessions(db)
    for odd in ("", "x" * 5000, SESSION_PREFIX + "ü" * 43, SESSION_PREFIX):
        assert (await sessions.find(odd)).login is None


# one-time links


@pytest.mark.requirement("login:link")
async def test_a_link_logs_one_user_in_once_and_is_stored_as_its_hash(db: Database, users: Users) -> None:
    sessions = BrowserSessions(db)
    token, other = await sessions.make_link("ada"), await sessions.make_link("ADA")
    stored = await db.read(lambda rows: rows.all("SELECT * FROM login_links"))
    assert token.removeprefix(LINK_PREFIX) not in repr(stored)
    assert token not in scrub_text(f"open http://x/login/link?token={token}")
    for _ in range(3):
        assert await sessions.link_user(token) == "Ada", "looking does not use it up"
    assert await sessions.use_link(token) == "Ada"
    assert await sessions.use_link(token) is None
    assert await sessions.link_user(token) is None
    assert await sessions.use_link(other) == "Ada"
    for wrong in ("", LINK_PREFIX, LINK_PREFIX + "x" * 43, token[:-1], "ü", LINK_PREFIX + "x" * 500):
        assert await sessions.link_user(wrong) is None
        assert await sessions.use_link(wrong) is None
    with pytest.raises(NotFound):
        await sessions.make_link("nobody")


@pytest.mark.requirement("login:link")
async def test_two_processes_cannot_both_use_a_link(db: Database, other: Database, users: Users) -> None:
    here, there = BrowserSessions(db), BrowserSessions(other)
    for _ in range(5):
        token = await here.make_link("ada")
        found = await asyncio.gather(*(one.use_link(token) for one in (here, there, here, there)))
        assert sorted(map(str, found)) == ["Ada", "None", "None", "None"]


@pytest.mark.requirement("login:link")
async def test_a_link_ends_after_ten_minutes_with_a_new_password_and_with_its_user(db: Database, users: Users) -> None:
    clock = TurnedClock()
    sessions = BrowserSessions(db, clock=clock)
    late, new = await sessions.make_link("ada"), await sessions.make_link("ada")
    clock.advance(LINK_SECONDS - 1)
    assert await sessions.use_link(new) == "Ada"
    clock.advance(1)
    assert await sessions.link_user(late) is None
    assert await sessions.use_link(late) is None
    for change in (lambda: users.set_password("ada", "another horse battery"), lambda: users.remove("ada")):
        token = await sessions.make_link("ada")
        await change()
        assert await sessions.use_link(token) is None
