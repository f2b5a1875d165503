"""Two invented people with small corpora, and a corpus held in memory over the real search."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pentad.documents.sentences import sentences
from pentad.kernel.ports import Database, Embedder, Transaction
from pentad.rooms.avatars.calibration.model import Calibration
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.persona import Persona
from pentad.search.documents import Document, Ranking
from pentad.search.index import SearchIndex

KEEPER = Persona(
    id="ida-brandt",
    name="Ida Brandt",
    description="Kept the canal registers of the Lower Marsh.",
    expertise=("water boards", "dikes", "canals"),
    voice="first_person",
    identity="Keeper of the canal registers",
    tone="plain",
    constraints=("Never speak of politics.",),
    citation_style="first person past tense",
    begins=1901,
    ends=1958,
)
BEEKEEPER = Persona(
    id="tomas-orlik",
    name="Tomas Orlik",
    description="Beekeeper and writer.",
    expertise=("bees", "honey"),
    voice="student",
    begins=1920,
    ends=1971,
)

KEEPER_SOURCES: tuple[tuple[str, int, str, list[str]], ...] = (
    (
        "Notes on the Lower Marsh",
        1934,
        "by",
        [
            (
                "The Lower Marsh had 27 sluices in 1931, and each of them was opened by hand at low tide. The "
                "keeper of a sluice lived beside it, for the tide does not wait for anybody. Twice a year the board "
                "of Halvesand inspected the gates and wrote down every crack."
            ),
            (
                "A dike is not lost in the storm but in the dry summer before it. Mice dig their tunnels where the "
                "grass is thin, and the sheep that should keep the turf short are sold in a bad year. I have "
                "counted 140 mouse holes on a single mile of the Ember dike."
            ),
            (
                "The farmers paid for the canal by the length of their bank, not by the size of their land. Wilhelm "
                "Harms thought this unjust and refused to pay for three years. The board did not sue him; it left "
                "his ditch uncleaned until he came to the meeting himself."
            ),
            (
                "Salt is the true enemy of the marsh. When the outer gate leaks, the wells of the low farms turn "
                "brackish within nine days. Barley bears a little salt, but clover dies of it at once."
            ),
            (
                "Water is shared by turns. Every farm has its hour at the weir, and the hours are drawn by lot on "
                "the first Monday of March. Whoever misses the hour waits for the next round, which comes after "
                "eleven days."
            ),
        ],
    ),
    (
        "Letters from the Sluice House",
        1947,
        "by",
        [
            (
                "After the flood of 1926 we rebuilt the northern gate in oak, though the engineers had advised "
                "iron. Oak swells and closes by itself, while iron must be greased every month. The gate has held "
                "for twenty-one years."
            ),
            (
                "My assistant Greta Lohse kept the tide tables. She noticed that the highest water came not at full "
                "moon but about two days later. Nobody in the office believed her until she had written it down for "
                "64 tides."
            ),
            (
                "People ask why the board fines nobody for the first offence. A warning costs nothing and is "
                "remembered; a fine is paid and forgotten. Only those who open a gate at night are fined, and the "
                "fine is 40 marks."
            ),
            (
                "The windmill at Oster Siel lifted 15 cubic metres of water in a minute when the wind was fresh. "
                "The steam pump that replaced it lifted more, yet it never ran on a Sunday, because the coal was "
                "locked away."
            ),
        ],
    ),
    (
        "The Registrar of the Marsh",
        1976,
        "about",
        [
            (
                "Ida Brandt retired in 1958 and gave her registers to the museum of Halvesand. They fill 212 "
                "volumes. Scholars have praised the care with which she recorded the height of every tide."
            ),
            (
                "In 1969 the sluices were joined to an electric control room. The computer of the control room "
                "opens all gates within four minutes. Brandt herself never saw it."
            ),
        ],
    ),
)
BEEKEEPER_SOURCES: tuple[tuple[str, int, str, list[str]], ...] = (
    (
        "The Quiet Hive",
        1938,
        "by",
        [
            (
                "A hive should face the morning sun, and never the north wind. Bees that are warmed early fly out "
                "early, and the first hour of the day brings the most nectar. In the shade a colony gathers a third "
                "less honey."
            ),
            (
                "I never open a hive when the air is colder than 14 degrees. The brood cools faster than it warms, "
                "and a chilled larva does not recover. Curiosity has killed more colonies than hunger."
            ),
            (
                "The swarm is not a loss but a birth. The old queen leaves with half of the workers, and the young "
                "one stays with the stores. Whoever clips the wings of a queen only delays what the colony has "
                "decided."
            ),
            (
                "Lime blossom gives a pale honey that tastes of mint. Buckwheat gives a dark one, which the bakers "
                "of Zelnice buy for their gingerbread. Honey from rape sets within a week and must be spun at once."
            ),
        ],
    ),
    (
        "Winter Work",
        1952,
        "by",
        [
            (
                "A colony of normal strength needs about 18 kilograms of stores for the winter. I weigh each hive "
                "in October and write the weight on its lid. Sugar water fed after the frost does more harm than "
                "good."
            ),
            (
                "Mice enter through any gap wider than nine millimetres. A strip of tin before the entrance keeps "
                "them out. Anton Vesely used thorns instead, and lost four hives."
            ),
            (
                "Water must be near, but running water drowns the bees. I put moss into a flat dish, and the bees "
                "drink from the moss. The dish is filled every morning from April to September."
            ),
        ],
    ),
)


def passages_of(sources: Sequence[tuple[str, int, str, list[str]]]) -> list[Passage]:
    """Passages as a corpus would keep them; the third and fourth of a source stand on the same page."""
    found: list[Passage] = []
    for document, (title, year, role, texts) in enumerate(sources, start=1):
        offset = 0
        for place, content in enumerate(texts):
            page = 3 + place - (place > 2)
            found.append(
                Passage(
                    id=len(found) + 1,
                    position=place,
                    document=document,
                    source=title,
                    source_id=title.lower().replace(" ", "-"),
                    content=content,
                    page=page,
                    page_end=page,
                    printed_page=None,
                    printed_page_end=None,
                    section=None,
                    char_start=offset,
                    char_end=offset + len(content),
                    year=year,
                    role="about" if role == "about" else "by",
                    type="book",
                    tokens=len(content) // 4,
                    sha256=hashlib.sha256(title.encode()).hexdigest(),
                    content_sha256=hashlib.sha256(content.encode()).hexdigest(),
                    sentences=sentences(content),
                )
            )
            offset += len(content) + 2
    return found


@dataclass
class HeldCorpus:
    """A corpus in memory, over the real search."""

    persona: Persona
    held: Sequence[Passage]
    index: SearchIndex
    collection: str
    calibration: Calibration = field(default_factory=Calibration)

    async def search(self, query: str, limit: int, allowed: Sequence[int] | None = None) -> Ranking:
        return await self.index.search(self.collection, query, limit=limit, allowed=allowed)

    async def passages(self, ids: Sequence[int]) -> Sequence[Passage]:
        by_id = {passage.id: passage for passage in self.held}
        return [by_id[number] for number in ids if number in by_id]

    def speaking_as(self, **changes: object) -> "HeldCorpus":
        return replace(self, persona=replace(self.persona, **changes))

    def sentences(self) -> list[str]:
        return [passage.content[a:b] for passage in self.held for a, b in passage.sentences]


async def hold(
    database: Database,
    index: SearchIndex,
    persona: Persona,
    sources: Sequence[tuple[str, int, str, list[str]]],
    embedder: Embedder | None = None,
) -> HeldCorpus:
    """Index the passages of some sources."""
    held = passages_of(sources)
    vectors = [None] * len(held) if embedder is None else [await embedder.embed([each.content]) for each in held]
    documents = [
        Document(each.id, each.content, [each.content], vector) for each, vector in zip(held, vectors, strict=True)
    ]

    def work(tx: Transaction) -> None:
        index.put(tx, f"avatar:{persona.id}:1", documents)

    await database.write(work)
    return HeldCorpus(persona, held, index, f"avatar:{persona.id}:1")
