"""The stem of a word with irregular verbs in one form: `wrote` and `written` are the same verb."""

from functools import lru_cache
from typing import Final

from pentad.search.text import stem

_VERBS: Final = (
    "beat beaten", "become became", "begin began begun", "bite bit bitten", "blow blew blown", "break broke broken",
    "bring brought", "build built", "buy bought", "catch caught", "choose chose chosen", "come came",
    "draw drew drawn", "drink drank drunk", "drive drove driven", "eat ate eaten", "feed fed", "fight fought",
    "find found", "fly flew flown", "forbid forbade forbidden", "forget forgot forgotten", "forgive forgave forgiven",
    "freeze froze frozen", "get got gotten", "give gave given", "go went gone", "grow grew grown", "hide hid hidden",
    "hold held", "keep kept", "know knew known", "lead led", "leave left", "lend lent", "lose lost", "make made",
    "meet met", "overthrow overthrew overthrown", "pay paid", "ride rode ridden", "ring rang rung", "rise rose risen",
    "run ran", "say said", "see saw seen", "seek sought", "sell sold", "send sent", "shake shook shaken",
    "shoot shot", "show showed shown", "sing sang sung", "sink sank sunk", "speak spoke spoken", "spend spent",
    "steal stole stolen", "strike struck", "swear swore sworn", "swim swam swum", "take took taken",
    "teach taught", "tear tore torn", "tell told", "think thought", "throw threw thrown",
    "undertake undertook undertaken",
    "wear wore worn", "weave wove woven", "win won", "withdraw withdrew withdrawn", "write wrote written",
)  # fmt: skip
_BASE: Final = {form: forms.split()[0] for forms in _VERBS for form in forms.split()[1:]}


@lru_cache(maxsize=1)
def _base_stems() -> dict[str, str]:
    """The same by stems. Built on first use, because it loads the stemmer."""
    return {stem(form): stem(base) for form, base in _BASE.items()}


def verb_stem(word: str) -> str:
    """The stem of a word, or of the base form of an irregular verb."""
    return stem_of_verb(stem(word))


def stem_of_verb(stemmed: str) -> str:
    """The stem of the base form, for a stem."""
    return _base_stems().get(stemmed, stemmed)
