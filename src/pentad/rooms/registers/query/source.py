"""Where objects come from: the table, the table through full-text search, or the past.

Whatever the source, its rows are called `objects` and have the columns of the table, so that everything else is
written once. The scope stands in the text as numbers: SQLite only uses a partial index where it can see that it fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pentad.kernel.errors import InvalidInput
from pentad.kernel.sql import FALSE, TRUE, Sql, composed, joined, select
from pentad.rooms.registers.query.conditions import condition, kind_of, parameter, value_of
from pentad.rooms.registers.query.dialects import Parts
from pentad.rooms.registers.query.lookups import listed_look_up, looks_up
from pentad.rooms.registers.query.past import past, place
from pentad.rooms.registers.query.tree import And, AsOf, Compare, Filter, In, Instant, Path, Scope
from pentad.rooms.registers.query.words import WORDS, asked_words

_ORGANISATION: Path = ("@self", "organisation")


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM and a WHERE. `relevance` is what a search has its candidates ordered by."""

    tables: Sql
    where: Sql
    relevance: str | None = None

    def select(self, columns: str, more: Sql | None = None, tail: str = "") -> Sql:
        """The statement that reads columns (without parameters) under one more condition."""
        where = self.where if more is None else joined("AND", [self.where, more])
        return select(columns, self.tables, where, tail)


def source(
    parts: Parts,
    scope: Scope,
    wanted: Filter | None,
    *,
    search: str | None = None,
    as_of: AsOf | None = None,
    include_deleted: bool = False,
    near: Sequence[int] = (),
) -> Source:
    """The objects of a scope that a filter and a search are true of; those `near` need not have its words."""
    pieces = place(parts, scope)
    if as_of is None and not include_deleted:
        pieces.append(Sql("objects.deleted IS NULL"))
    pieces += _rules(parts, scope, decisive=looks_up(scope, wanted))
    tables, relevance = Sql("objects"), None
    if as_of is not None:
        if search is not None:
            raise InvalidInput("The past cannot be searched by words.", hint="Use a filter with like or contains.")
        tables = past(parts, scope, as_of)
    elif search is not None:
        expression = WORDS.expression(parts.dialect, asked_words(search), "and")
        if not expression:
            pieces.append(FALSE)
        else:
            found = WORDS.best_first(parts.dialect, expression)
            if near:
                found = WORDS.having_or(parts.dialect, expression, near)
            # CROSS JOIN: in SQLite the words decide which objects to look at, never the other way round
            tables, relevance = composed(found, " CROSS JOIN objects"), None if near else "d.points"
            pieces.insert(0, Sql("objects.id = d.record"))
    elif (found := listed_look_up(scope, wanted)) is not None:
        tables, match, wanted = _each(parts, *found)
        pieces.append(match)
    if wanted is not None:
        pieces.append(condition(parts, wanted))
    return Source(tables, joined("AND", pieces) if pieces else TRUE, relevance)


def _each(parts: Parts, listed: In, rest: Filter | None) -> tuple[Sql, Sql, Filter | None]:
    """The values of a list, each looked up for itself where the dialect needs to be told so."""
    values = [one for one in dict.fromkeys(listed.values) if one is not None]
    value = value_of(parts, listed.path, kind_of(values[0]))
    joining = parts.each_of(value, [one.key if isinstance(one, Instant) else one for one in values])
    if joining is None:
        return Sql("objects"), condition(parts, listed), rest
    return *joining, rest


def _rules(parts: Parts, scope: Scope, *, decisive: bool) -> list[Sql]:
    """What the scope demands. The organisation is the last column of every property's index: naming it, whichever it
    is, makes that index the one that fits best."""
    rules = list(scope.rule.parts) if isinstance(scope.rule, And) else [scope.rule] if scope.rule is not None else []
    if scope.organisations is not None:
        rules.append(In(_ORGANISATION, scope.organisations))
    pieces: list[Sql] = []
    named = False
    for rule in rules:
        match rule:
            case (
                Compare(path=("@self", "organisation"), op="eq", value=str(tenant))
                | In(path=("@self", "organisation"), values=(str(tenant),), negated=False)
            ):
                mark, bound = parameter(parts, tenant)
                test = f"objects.organisation = {mark}"
                pieces.append(Sql(parts.decisive(test) if decisive else parts.expected(test), (bound,)))
                named = True
            case _:
                pieces.append(condition(parts, rule))
    if decisive and not named:
        pieces.append(Sql(parts.decisive("objects.organisation >= ''")))
    return pieces
