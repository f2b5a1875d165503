"""Questions in plain words, answered with the objects that match; no model speaks, nothing is said that is not stored.

Words that carry no meaning are left out; objects with all of the others come first, and of hybrid schemas those near
the question, then those with some. Each comes with the words and properties it was found by, and how near it is, so
that whoever asked can judge the answer.
"""

import re
from typing import Any, Final

from starlette.responses import Response

from pentad.rooms.registers.interface.rest.answers import answer
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.bodies import body_as
from pentad.rooms.registers.interface.rest.models import QuestionData
from pentad.rooms.registers.interface.rest.search import matches, pairs_of
from pentad.rooms.registers.interface.rest.table import RestRoute

_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 8
_EMPTY_WORDS: Final = (
    "a about all an and any are as at be by can could did do does find for from get give had has have how i in is it"
    " list many me my of on or our please show tell that the their them there these they this to was were what when"
    " where which who whom why will with you your"
)


async def ask_question(ask: Ask) -> Response:
    """Answer a question with the objects that match its words, and say why each does."""
    given = body_as(QuestionData, await ask.object())
    pairs = await pairs_of(ask, given.register_, given.schema_)
    words = telling_words(given.question)
    found = (await matches(ask, pairs, " ".join(words), given.limit))[1] if words else []
    seen = {row["@self"]["id"] for row in found}
    for word in words if len(words) > 1 else ():
        if len(found) >= given.limit:
            break
        _, rows = await matches(ask, pairs, word, given.limit, words=True)
        more = [row for row in rows if row["@self"]["id"] not in seen]
        found += more[: given.limit - len(found)]
        seen |= {row["@self"]["id"] for row in more}
    results = [{"object": row, "because": reasons(row, words)} for row in found]
    return answer(
        {"question": given.question, "words": words, "answer": _sentence(len(found), words), "results": results}
    )


def telling_words(question: str) -> list[str]:
    """The words of a question that can tell one object from another."""
    empty = frozenset(_EMPTY_WORDS.split())
    words = [word for word in _WORD.findall(question.lower()) if word not in empty]
    return list(dict.fromkeys(words))[:_MOST_WORDS]


def reasons(row: dict[str, Any], words: list[str]) -> list[dict[str, Any]]:
    """Which word was found in which property, and how near the question it is where that counted."""
    texts = {name: str(value).lower() for name, value in row.items() if name not in ("@self", "id")}
    cosine = row["@self"].get("why", {}).get("cosine")
    near: list[dict[str, Any]] = [] if cosine is None else [{"cosine": cosine}]
    return near + [
        {"word": word, "property": name}
        for word in words
        for name, text in texts.items()
        if any(part.startswith(word) for part in _WORD.findall(text))
    ]


def _sentence(count: int, words: list[str]) -> str:
    if not words:
        return "The question has no word to look for. Name a thing, a place, a person or a state."
    looked = ", ".join(words)
    return (
        f"{count} object{'' if count == 1 else 's'} found for: {looked}." if count else f"Nothing found for: {looked}."
    )


ROUTES: Final = (RestRoute("POST", "/chat", "chat", ask_question, body=QuestionData),)
