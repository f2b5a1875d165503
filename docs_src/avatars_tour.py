"""The calls on the avatars page, in order. The folders they mention are in `avatars/` beside this file."""

from docs_src.tour_steps import Ask, Command, Read

IDA = {"avatar": "ida-brandt"}

QUESTIONS = """[
  {"question": "How many sluices did the Lower Marsh have in 1931?", "answer": "27 sluices"},
  {"question": "Why is a dike lost?", "answer": ["dry summer", "mice dig"]},
  {"question": "Who painted the sluice house?", "answer": null}
]
"""

TOUR: dict[str, Ask | Command | Read] = {
    "new": Command(
        'pentad avatars new papers --name "Marsh Papers" --description "Reports of a water board." --voice student',
        on_store=False,
    ),
    "papers": Command("pentad avatars ingest papers"),
    "first": Command('pentad avatars ask "How was the northern gate rebuilt?"'),
    "ingest": Command("pentad avatars ingest ida-brandt"),
    "again": Command("pentad avatars ingest ida-brandt"),
    "other": Command("pentad avatars ingest tomas-orlik"),
    "list": Command("pentad avatars list"),
    "ask": Command('pentad avatars ask --avatar ida-brandt "Why is a dike lost?"'),
    "info": Ask("get_avatar_info", dict(IDA)),
    "query": Ask(
        "query_corpus", {**IDA, "query": "how the water is shared between farms", "limit": 2, "threshold": 0.5}
    ),
    "answer": Ask("generate_response", {**IDA, "question": "How many sluices did the Lower Marsh have in 1931?"}),
    "about": Command('pentad avatars ask --avatar ida-brandt "How many volumes do the registers fill?"'),
    "silent": Command('pentad avatars ask --avatar ida-brandt "What honey does buckwheat give?"'),
    "later": Command('pentad avatars ask --avatar ida-brandt "What do you say to the flood of 1995?"'),
    "verify": Ask(
        "verify_response",
        {**IDA, "draft": "Salt is the true enemy of the marsh. The Lower Marsh had 28 sluices in 1931."},
    ),
    "citation": Ask(
        "verify_citation",
        {**IDA, "quote": "Salt is the worst enemy of the marsh.", "source": "Notes on the Lower Marsh"},
    ),
    "route": Ask("list_avatars", {"question": "What honey does buckwheat give?"}),
    "marked": Read("avatar://ida-brandt/passages/3/9-97"),
    "eval": Command(
        "pentad avatars eval --avatar ida-brandt --questions questions.json", file=("questions.json", QUESTIONS)
    ),
}
