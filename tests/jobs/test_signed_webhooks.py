"""Signed HTTP deliveries."""

import pytest

from pentad.jobs.signed_webhooks import MOST_RETRY_AFTER, Message, deliver, signature, signing_key
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import InvalidInput
from pentad.net.addresses import networks
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from tests.receiving import receiving

pytestmark = pytest.mark.anyio
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
async def fetcher():
    made = HttpFetcher(FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True))
    yield made
    await made.close()


@pytest.mark.requirement("jobs:deliveries")
async def test_a_delivery_is_signed_as_standard_webhooks_says(fetcher: HttpFetcher):
    # The example of the Standard Webhooks specification.
    body = b'{"test": 2432232314}'
    assert signature(signing_key(SECRET), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
    async with receiving() as receiver:
        message = Message(receiver.url, "m1", b"{}", b"key", {"x-desk": "a"}, countersign=lambda _: {"x-jws": "sig"})
        attempt = await deliver(fetcher, SystemClock(), message)
        assert (attempt.status, attempt.problem, attempt.is_gone) == (200, None, False)
        (sent,) = receiver.requests
        stamp = int(sent.headers["webhook-timestamp"])
        assert sent.headers["webhook-signature"] == signature(b"key", "m1", stamp, b"{}")
        assert (sent.headers["x-desk"], sent.headers["x-jws"], sent.headers["webhook-id"]) == ("a", "sig", "m1")


@pytest.mark.requirement("jobs:deliveries")
@pytest.mark.parametrize(
    ("answer", "problem", "is_gone", "pause"),
    [
        ("410 Gone", "The address answered 410.", True, 0.0),
        ("503 Busy\r\nRetry-After: 120", "The address answered 503.", False, 120.0),
        ("503 Busy\r\nRetry-After: 99999999", "The address answered 503.", False, MOST_RETRY_AFTER),
        ("503 Busy\r\nRetry-After: soon", "The address answered 503.", False, 0.0),
        (
            "302 Found\r\nLocation: /elsewhere",
            "The address redirects, and deliveries do not follow redirects.",
            False,
            0.0,
        ),
    ],
)
async def test_what_a_receiver_answers_is_understood(
    fetcher: HttpFetcher, answer: str, problem: str, is_gone: bool, pause: float
):
    async with receiving(lambda number: answer if number == 0 else "200 OK") as receiver:
        attempt = await deliver(fetcher, SystemClock(), Message(receiver.url, "m1", b"{}", b"key"))
        assert (attempt.problem, attempt.is_gone, attempt.retry_after) == (problem, is_gone, pause)


@pytest.mark.requirement("jobs:deliveries")
async def test_an_address_that_may_not_be_reached_is_a_failed_attempt():
    fetcher = HttpFetcher()
    attempt = await deliver(fetcher, SystemClock(), Message("https://10.1.2.3/hook", "m1", b"{}", b"key"))
    assert attempt.status is None
    assert attempt.problem
    await fetcher.close()


def test_a_secret_that_is_not_base64_is_refused():
    with pytest.raises(InvalidInput):
        signing_key("whsec_***")
    assert signing_key("plain") == b"plain"
