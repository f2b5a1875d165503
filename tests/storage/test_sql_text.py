"""Cutting SQL into pieces, statements and parameters, by example and by property."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.ports import Dialect
from pentad.storage.sql_text import pieces, psycopg_statement, split_statements

DIALECTS: list[Dialect] = ["sqlite", "postgres"]
ANY_TEXT = st.text(alphabet=st.sampled_from("ab'\"?%;-/*$[]`\\\n eEé_1(),BEGINDCASTR"), max_size=60)
INNER = st.text(alphabet=st.sampled_from("ab?%;-/ *\n"), max_size=12)
QUOTED = st.one_of(
    INNER.map(lambda text: f"'{text}'"),
    INNER.map(lambda text: f"'it''s {text}'"),
    INNER.map(lambda text: f'"{text}"'),
    INNER.map(lambda text: f"/*{re.sub('[*/]', '', text)}*/"),
    INNER.map(lambda text: "--" + text.replace("\n", " ") + "\n"),
)
DOLLARS = INNER.map(lambda text: f"$body${text}'\"$body$")
CODE = st.sampled_from(["SELECT", "a", "1.5", "+", "(", ")", ",", "=", " ", "\n", "e", "$1"])


@pytest.mark.parametrize("dialect", DIALECTS)
@given(sql=ANY_TEXT)
def test_the_pieces_are_the_text(dialect: Dialect, sql: str):
    assert "".join(piece.text for piece in pieces(sql, dialect)) == sql


@given(parts=st.lists(st.one_of(QUOTED, DOLLARS, CODE, st.just("?"), st.just("%")), max_size=12))
def test_only_question_marks_in_the_code_become_parameters(parts: list[str]):
    sql = " ".join(parts)
    found = psycopg_statement(sql).decode()
    assert len(re.findall(r"%(?:%|s)", found)) * 2 == found.count("%") + found.count("%s")
    assert re.sub(r"%%|%s", lambda mark: "%" if mark[0] == "%%" else "?", found) == sql
    assert len(re.findall(r"(?<!%)(?:%%)*%s", found)) == parts.count("?")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT ?", "SELECT %s"),
        ("SELECT '?' || ?", "SELECT '?' || %s"),
        ("SELECT 'it''s ?', ?", "SELECT 'it''s ?', %s"),
        (r"SELECT E'\'?', ?", r"SELECT E'\'?', %s"),
        (r"SELECT '\', ?, '?'", r"SELECT '\', %s, '?'"),
        ('SELECT "a""?" = ?', 'SELECT "a""?" = %s'),
        ("SELECT ? -- why?\n, ?", "SELECT %s -- why?\n, %s"),
        ("/* ? /* ? */ ? */ ?", "/* ? /* ? */ ? */ %s"),
        ("$$ ? $$ ? $a$ ? $$ ? $a$", "$$ ? $$ %s $a$ ? $$ ? $a$"),
        ("a$b$ ? $b$", "a$b$ %s $b$"),
        ("LIKE 'a%' AND 5 % ?", "LIKE 'a%%' AND 5 %% %s"),
    ],
)
def test_parameters_by_example(sql: str, expected: str):
    assert psycopg_statement(sql).decode() == expected


STATEMENT = st.lists(st.one_of(QUOTED, CODE), min_size=1, max_size=8).map(" ".join)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(statements=st.lists(STATEMENT, max_size=6))
def test_statements_joined_by_semicolons_come_apart_again(dialect: Dialect, statements: list[str]):
    words = [f"SELECT {statement}" for statement in statements]
    assert split_statements(";".join(words), dialect) == [word.strip() for word in words]
    assert split_statements(";\n".join([*words, "-- the end"]), dialect) == [word.strip() for word in words]


@pytest.mark.parametrize("dialect", DIALECTS)
@given(sql=ANY_TEXT)
def test_splitting_loses_nothing_but_semicolons_comments_and_space(dialect: Dialect, sql: str):
    def essence(text: str) -> str:
        return "".join(p.text for p in pieces(text, dialect) if p.kind not in ("comment", "space") and p.text != ";")

    assert essence(";\n".join(split_statements(sql, dialect))).rstrip() == essence(sql).rstrip()


def test_a_trigger_is_one_statement_with_everything_in_it():
    trigger = """CREATE TRIGGER IF NOT EXISTS x AFTER INSERT ON a WHEN new.b = ';' BEGIN
        UPDATE a SET c = CASE WHEN b THEN 1 ELSE 2 END;  -- END;
        DELETE FROM d WHERE e = 'END;';
    END"""
    assert split_statements(f"CREATE TABLE a (b);\n{trigger};\nSELECT 1;", "sqlite") == [
        "CREATE TABLE a (b)",
        trigger,
        "SELECT 1",
    ]


def test_dollar_quotes_and_atomic_bodies_are_one_statement():
    function = "CREATE OR REPLACE FUNCTION f() RETURNS trigger AS $x$ BEGIN a; b; END; $x$ LANGUAGE plpgsql"
    atomic = "CREATE FUNCTION g() RETURNS int BEGIN ATOMIC SELECT CASE WHEN 1=1 THEN 1 END; SELECT 2; END"
    trigger = "CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION f()"
    assert split_statements(f"{function};{atomic};{trigger};COMMIT;", "postgres") == [
        function,
        atomic,
        trigger,
        "COMMIT",
    ]


def test_begin_and_case_elsewhere_do_not_swallow_what_follows():
    assert split_statements("BEGIN; SELECT CASE WHEN 1 THEN 2 END; COMMIT", "sqlite") == [
        "BEGIN", "SELECT CASE WHEN 1 THEN 2 END", "COMMIT",
    ]  # fmt: skip
    assert split_statements("CREATE TABLE [a;b] (`c;d` INT); SELECT 1", "sqlite") == [
        "CREATE TABLE [a;b] (`c;d` INT)",
        "SELECT 1",
    ]
