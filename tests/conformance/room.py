"""The conformance room: every fixture the official suites and the referees of the tests call by name.

    pentad serve --auth none --rooms tests.conformance.room:ROOM

It is never part of the product.
"""

from pentad.platform import Room
from tests.conformance.asking import ASKING_TOOLS
from tests.conformance.prompts import PROMPTS
from tests.conformance.resources import RESOURCES, numbered_pages
from tests.conformance.service import Fixtures, open_fixtures
from tests.conformance.task_tools import TASK_TOOLS
from tests.conformance.tools import TOOLS

ROOM: Room[Fixtures] = Room(
    name="conformance",
    title="Conformance",
    instructions="Fixtures of the protocol's conformance suites.",
    open=open_fixtures,
    tools=(*TOOLS, *ASKING_TOOLS, *TASK_TOOLS),
    resources=RESOURCES,
    prompts=PROMPTS,
    listing=numbered_pages,
    tasks=lambda fixtures: fixtures.tasks,
)
