"""One task, three clients: started with AgentVault's, followed in A2A 0.3, canceled in A2A 1.0."""

import json

import pytest

from tests.interop.agents.tours import Site, a2a, agentvault, saying

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.mark.requirement("agents:interop:three-dialects")
def test_a_task_begun_in_one_dialect_is_followed_in_another_and_canceled_in_a_third(site: Site) -> None:
    (task_id,) = agentvault("begin", site.card, "wait")
    with saying("follow", site.url, "JSONRPC", "0.3", task_id) as follower:
        assert follower.stdout is not None
        first = json.loads(follower.stdout.readline())["task"]
        assert (first["id"], first["status"]["state"]) == (task_id, "TASK_STATE_WORKING")
        (canceled,) = a2a("cancel", site.url, "JSONRPC", "1.0", task_id)
        assert (canceled["id"], canceled["status"]["state"]) == (task_id, "TASK_STATE_CANCELED")
        (last,) = [json.loads(line)["statusUpdate"] for line in follower.stdout]
        assert (last["taskId"], last["status"]["state"]) == (task_id, "TASK_STATE_CANCELED")
        assert follower.wait(30) == 0
    (task,) = agentvault("task", site.card, task_id)
    assert (task["id"], task["state"]) == (task_id, "CANCELED")
