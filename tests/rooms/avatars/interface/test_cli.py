"""`pentad avatars` as people use it: bring a folder in, look, ask, examine."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pentad.rooms.avatars.evaluation.score_card import FIGURES
from tests.behaviour.avatars.folders import beekeeper, keeper
from tests.cli.processes import run
from tests.terminal.test_running_servers import leave_file

SLUICES = "How many sluices did the Lower Marsh have in 1931?"


def avatars(home: Path, *args: str) -> Any:
    return run("avatars", *args, "--data", "data", home=home, environ={"PENTAD_SEARCH_EMBEDDER": "none"})


def sure(home: Path) -> float:
    """How sure the answer on the sluices is."""
    return json.loads(avatars(home, "ask", SLUICES, "--json").stdout)["confidence_score"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with both avatars, which no test changes."""
    made = tmp_path_factory.mktemp("avatars")
    for folder in (keeper(made), beekeeper(made)):
        done = avatars(made, "ingest", str(folder))
        assert done.returncode == 0, done.stderr
    return made


@pytest.mark.requirement("avatars:cli:ingest")
def test_an_ingest_reports_each_file_and_repeats_nothing(tmp_path: Path) -> None:
    folder = keeper(tmp_path)
    dry = avatars(tmp_path, "ingest", str(folder), "--dry-run")
    assert dry.returncode == 0
    assert "dry run" in dry.stderr
    assert json.loads(avatars(tmp_path, "list", "--json").stdout) == []
    first = avatars(tmp_path, "ingest", str(folder))
    assert (first.returncode, first.stdout) == (0, "")
    assert "added      notes.md  (4 passages)" in first.stderr
    assert first.stderr.endswith("ida-brandt: 3 added, 0 unchanged. Generation 1.\n")
    second = json.loads(avatars(tmp_path, "ingest", str(folder), "--json").stdout)
    assert (second["stored"], second["unchanged"]) == (False, 3)
    forced = json.loads(avatars(tmp_path, "ingest", str(folder), "--force", "--source", "notes", "--json").stdout)
    assert (forced["stored"], forced["changed"]) == (True, 1)
    unknown = avatars(tmp_path, "ingest", str(folder), "--source", "nonsense")
    assert unknown.returncode == 3
    assert 'Source "nonsense" not found' in unknown.stderr


@pytest.mark.requirement("avatars:cli:ingest")
def test_files_are_added_to_an_avatar_and_a_bad_one_is_a_line_and_a_failure(tmp_path: Path) -> None:
    home = tmp_path
    assert avatars(home, "ingest", str(keeper(home))).returncode == 0
    (home / "Windmills.md").write_text(
        "The windmill at Oster Siel lifted 15 cubic metres a minute.\n", encoding="utf-8"
    )
    (home / "broken.pdf").write_bytes(b"%PDF-1.4 nothing that follows is a PDF")
    done = avatars(home, "ingest", "--avatar", "ida-brandt", "Windmills.md", "broken.pdf")
    assert done.returncode == 1
    assert "added      Windmills.md" in done.stderr
    assert "failed     broken.pdf" in done.stderr
    assert "[1] Windmills" in avatars(home, "ask", "--avatar", "ida-brandt", "What did the windmill lift?").stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "Give one FOLDER"),
        (["--avatar", "ida-brandt"], "Give the files"),
        (["nowhere"], "There is no file or folder nowhere"),
        (["."], "There is no config.json"),
    ],
)
def test_a_slip_is_answered_with_what_to_give(tmp_path: Path, args: list[str], said: str) -> None:
    done = avatars(tmp_path, "ingest", *args)
    assert done.returncode in (2, 3)
    assert said in done.stderr


@pytest.mark.requirement("avatars:cli:ask")
def test_an_answer_is_shown_with_its_quotes(home: Path) -> None:
    done = avatars(home, "ask", "--avatar", "ida-brandt", *SLUICES.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("I wrote: \u201cThe Lower Marsh had 27 sluices")
    assert "[1] Notes on the Lower Marsh, Sluices (1934)" in done.stdout
    assert "lexical search" in done.stdout
    assert "AI avatar" in done.stdout.splitlines()[-1]
    silent = avatars(home, "ask", "--avatar", "ida-brandt", "What honey does buckwheat give?").stdout
    assert "Ask tomas-orlik instead." in silent
    assert json.loads(avatars(home, "ask", "--json", "--avatar", "ida-brandt", SLUICES).stdout)["citations"]
    several = avatars(home, "ask", SLUICES)
    assert several.returncode == 1
    assert "ida-brandt, tomas-orlik" in several.stderr


@pytest.mark.requirement("avatars:cli:list")
def test_avatars_are_listed_with_the_size_of_their_corpora(home: Path) -> None:
    lines = avatars(home, "list").stdout.splitlines()
    assert lines[0].split() == ["id", "name", "documents", "passages", "characters"]
    assert [line.split()[0] for line in lines[1:]] == ["ida-brandt", "tomas-orlik"]
    assert json.loads(avatars(home, "list", "--json").stdout)[0]["documents"] == 3


@pytest.mark.requirement("avatars:cli:eval")
def test_the_score_card_is_printed_and_can_fail_a_build(home: Path) -> None:
    done = avatars(home, "eval", "--avatar", "ida-brandt")
    assert done.returncode == 0, done.stderr
    for group in ("retrieval", "answer", "abstention", "calibration", "mutation"):
        assert f"\n{group}\n" in done.stdout
    assert re.search(r"changed number caught +1\.000", done.stdout)
    strict = avatars(home, "eval", "--avatar", "ida-brandt", "--strict", "--json")
    card = json.loads(strict.stdout)
    assert strict.returncode == (0 if card["passed"] else 1)
    shown = [f"{line['value']:.3f}  {line['low']:.2f}-{line['high']:.2f} of {line['of']:4}" for line in card["lines"]]
    assert all(figures in done.stdout for figures in shown), "the same corpus has the same card"
    assert all(0 <= line["low"] <= line["value"] <= line["high"] <= 1 for line in card["lines"] if line["of"])


@pytest.mark.requirement("avatars:eval:gate")
@pytest.mark.requirement("avatars:eval:questions")
def test_an_authors_questions_and_goals_decide_whether_a_build_fails(home: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.json"
    asked = [{"question": SLUICES, "answer": "27 sluices"}, {"question": "Who painted the weir house?", "answer": None}]
    questions.write_text(json.dumps(asked), encoding="utf-8")
    given = ("eval", "--avatar", "ida-brandt", "--questions", str(questions), "--strict", "--json")
    good = avatars(home, *given, "--goal", "questions.first_quote=1", "--goal", "abstention.own=0.5")
    card = json.loads(good.stdout)
    figures = {line["id"]: line for line in card["lines"]}
    assert figures["questions.first_quote"]["value"] == 1
    assert figures["questions.first_quote"]["goal"] == 1
    assert figures["questions.auroc"]["value"] == 1
    assert figures["questions.auroc"]["of"] > figures["questions.first_quote"]["of"]
    assert (good.returncode == 0) == card["passed"]
    asked[0]["answer"] = "28 sluices"
    questions.write_text(json.dumps(asked), encoding="utf-8")
    bad = avatars(home, *given)
    assert bad.returncode == 1
    assert not json.loads(bad.stdout)["passed"]
    unknown = avatars(home, "eval", "--avatar", "ida-brandt", "--goal", "mutation.swop=0.9")
    assert unknown.returncode != 0
    assert "mutation.swap" in unknown.stderr
    assert "calibration.coverage" in unknown.stderr, "all ids are listed"
    assert {line["id"] for line in card["lines"]} <= set(FIGURES)
    questions.write_text('[{"question": "x"}]', encoding="utf-8")
    assert "Question 1" in avatars(home, *given).stderr


@pytest.mark.requirement("avatars:feedback:consent")
def test_a_rating_is_kept_and_learnt_from_only_once_the_author_accepts_it(tmp_path: Path) -> None:
    assert avatars(tmp_path, "ingest", str(keeper(tmp_path))).returncode == 0
    answer = json.loads(avatars(tmp_path, "ask", SLUICES, "--json").stdout)
    rated = avatars(tmp_path, "rate", answer["uri"], "--unhelpful", "--correction", answer["citations"][0]["quote"])
    assert rated.returncode == 0, rated.stderr
    (one,) = json.loads(avatars(tmp_path, "feedback", "--json").stdout)["feedback"]
    assert (one["question"], one["helpful"], one["state"]) == (SLUICES, False, "new")
    assert sure(tmp_path) == answer["confidence_score"]
    done = json.loads(avatars(tmp_path, "feedback", "--accept", one["id"], "--json").stdout)
    assert (done["accepted"], done["adjustment"]["ratings"]) == (1, 1)
    assert sure(tmp_path) < answer["confidence_score"]
    again = json.loads(avatars(tmp_path, "feedback", "--reject", one["id"], "--json").stdout)
    assert again["adjustment"]["ratings"] == 0
    assert sure(tmp_path) == answer["confidence_score"]
    assert avatars(tmp_path, "feedback", "--accept", "nonsense").returncode == 3
    wrong = avatars(tmp_path, "rate", answer["uri"], "--unhelpful", "--correction", "It had 900 golden sluices.")
    assert "nowhere in the corpus" in wrong.stderr
    assert "You have no answer" in avatars(tmp_path, "rate", "avatar://ida-brandt/answers/none", "--helpful").stderr


@pytest.mark.requirement("avatars:publishing")
def test_every_avatar_is_published_to_the_directory_and_only_once(tmp_path: Path) -> None:
    for folder in (keeper(tmp_path), beekeeper(tmp_path)):
        assert avatars(tmp_path, "ingest", str(folder)).returncode == 0
    first = json.loads(avatars(tmp_path, "publish", "--json").stdout)
    assert [(one["avatar"], one["new"]) for one in first] == [("ida-brandt", True), ("tomas-orlik", True)]
    again = json.loads(avatars(tmp_path, "publish", "--json", "--avatar", "ida-brandt").stdout)
    assert [(one["cid"], one["new"]) for one in again] == [(first[0]["cid"], False)]
    found = run("directory", "search", "canal", "registers", "--json", "--data", "data", home=tmp_path).stdout
    assert first[0]["cid"] in found
    shown = json.loads(avatars(tmp_path, "publish", "--print").stdout)
    assert [one["name"] for one in shown] == ["avatar-ida-brandt", "avatar-tomas-orlik"]


@pytest.mark.requirement("avatars:publishing:address")
def test_a_published_avatar_has_the_address_of_the_server_that_runs_or_none(tmp_path: Path) -> None:
    assert avatars(tmp_path, "ingest", str(keeper(tmp_path))).returncode == 0
    (alone,) = json.loads(avatars(tmp_path, "publish", "--print").stdout)
    assert (alone["locators"], len(alone["modules"])) == ([], 1)
    leave_file(tmp_path, data=str(tmp_path / "data"), port=4321)
    (served,) = json.loads(avatars(tmp_path, "publish", "--print").stdout)
    url = "http://127.0.0.1:4321/rooms/avatars/ida-brandt/mcp"
    assert served["locators"] == [{"type": "url", "urls": [url]}]
    assert served["modules"][0]["data"]["connections"][0] == {"type": "streamable-http", "url": url}
    assert served["modules"][1]["data"]["card_data"]["url"] == url


@pytest.mark.requirement("avatars:cli:new")
def test_a_bare_folder_becomes_an_avatar(tmp_path: Path) -> None:
    folder = tmp_path / "marsh"
    folder.mkdir()
    (folder / "notes.md").write_text("# Salt\n\nSalt is the true enemy of the marsh.\n", encoding="utf-8")
    bare = avatars(tmp_path, "ingest", "marsh")
    assert bare.returncode != 0
    assert "pentad avatars new" in bare.stderr
    flags = ("--name", "Notes on the Marsh", "--description", "Dikes and salt.", "--voice", "student")
    made = run("avatars", "new", "marsh", *flags, home=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "avatars ingest marsh" in made.stderr
    done = avatars(tmp_path, "ingest", "marsh")
    assert done.stderr.endswith("notes-on-the-marsh: 1 added, 0 unchanged. Generation 1.\n")
    again = run("avatars", "new", "marsh", *flags, home=tmp_path)
    assert again.returncode != 0
    assert "already" in again.stderr
