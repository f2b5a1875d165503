"""`pentad directory`: output, streams and exit codes of its commands."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pentad.rooms.directory.interface.cli.commands import rest_line
from tests.cli.processes import run
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.secret_shapes import HEX, MIXED, WORD
from tests.rooms.directory.translate.sources import CARD, SERVER, SKILL

NAME = "example.org/paper-reader"


def saved(home: Path, name: str, data: Any) -> str:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return name


def directory(home: Path, *args: str, stdin: str = "", code: int = 0) -> str:
    done = run("directory", *args, "--data", str(home / "data"), home=home, stdin=stdin)
    assert done.returncode == code, done
    assert code or "error:" not in done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr


def pushed(home: Path, **changes: Any) -> str:
    return directory(home, "push", "-", stdin=json.dumps({**sample("1.0.0"), **changes})).strip()


@pytest.mark.requirement("dir:cli:validate")
def test_validate_is_silent_about_good_records_and_precise_about_bad_ones(tmp_path: Path) -> None:
    good = [saved(tmp_path, f"{version}.json", sample(version)) for version in ("0.3.1", "0.7.0", "0.8.0", "1.1.0")]
    assert directory(tmp_path, "validate", *good) == ""
    bad = saved(tmp_path, "bad.json", {key: value for key, value in sample("1.0.0").items() if key != "skills"})
    line = 'ERROR: Required attribute "skills" is missing. Attribute path: skills.\n'
    assert directory(tmp_path, "validate", bad, code=1) == line
    assert directory(tmp_path, "validate", "-", stdin="{", code=1).startswith("ERROR: not valid JSON")
    (told,) = json.loads(directory(tmp_path, "validate", good[0], "--json"))
    assert (told["valid"], told["errors"]) == (True, [])
    assert "cannot be read" in directory(tmp_path, "validate", "nowhere.json", code=2)
    assert directory(tmp_path, "validate", "-", stdin="\ufeff" + json.dumps(sample("1.0.0"))) == ""


@pytest.mark.requirement("dir:cli:validate")
def test_validate_tells_programs_what_it_knows_of_each_problem(tmp_path: Path) -> None:
    wrong = sample("1.0.0")
    wrong["descriptoin"] = wrong.pop("description")
    (told,) = json.loads(directory(tmp_path, "validate", saved(tmp_path, "w.json", wrong), "--json", code=1))
    [finding] = [one for one in told["findings"] if one["code"] == "attribute_unknown"]
    assert (finding["pointer"], finding["suggestions"]) == ("/descriptoin", ["description"])
    assert finding["patch"]


@pytest.mark.requirement("dir:cli:validate")
def test_to_validate_no_store_is_needed_and_none_is_made(tmp_path: Path) -> None:
    good = saved(tmp_path, "good.json", sample("1.0.0"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "pentad.db").write_bytes(b"no store at all" * 100)
    assert directory(tmp_path, "validate", good) == ""
    assert "1.1.0 (default)" in directory(tmp_path, "versions")
    elsewhere = run("directory", "validate", good, home=tmp_path)
    assert elsewhere.returncode == 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data", "good.json", "pentad.db"]


@pytest.mark.requirement("dir:cli:validate")
def test_validate_mends_what_is_certain(tmp_path: Path) -> None:
    wrong = sample("1.0.0")
    wrong["descriptoin"] = wrong.pop("description")
    fixed = run("directory", "validate", "-", "--fix", home=tmp_path, stdin=json.dumps(wrong))
    assert json.loads(fixed.stdout) == sample("1.0.0")
    assert "descriptoin" in fixed.stderr
    asked = {**wrong, "name": ""}
    repaired = run("directory", "validate", "-", "--fix", "--json", home=tmp_path, stdin=json.dumps(asked))
    (told,) = json.loads(repaired.stdout)
    assert told["fixed"]["description"] == sample("1.0.0")["description"]
    assert told["patch"]
    assert [one["pointer"] for one in told["questions"]] == ["/name"]


def test_a_directory_that_does_not_count_is_paged_too() -> None:
    assert rest_line(None, 20) == "There are more; continue with --offset 20."
    assert rest_line(1_234, 20) == "1,234 in total; continue with --offset 20."


@pytest.mark.requirement("dir:cli:push-pull")
def test_a_record_is_pushed_and_pulled(tmp_path: Path) -> None:
    cid = pushed(tmp_path)
    assert pushed(tmp_path) == cid
    assert json.loads(directory(tmp_path, "pull", cid)) == sample("1.0.0")
    assert directory(tmp_path, "pull", NAME, "--canonical", "--out", "out.json") == ""
    assert json.loads((tmp_path / "out.json").read_text()) == sample("1.0.0")
    assert directory(tmp_path, "resolve", f"{NAME}:v2.4.0").strip() == cid
    assert "no record found" in directory(tmp_path, "pull", "nobody", code=3)
    refused = directory(tmp_path, "push", "-", stdin='{"schema_version": "1.0.0"}', code=1)
    assert "record validation failed" in refused
    assert directory(tmp_path, "delete", cid) == ""
    assert "no record found" in directory(tmp_path, "resolve", NAME, code=3)
    again = pushed(tmp_path)
    assert json.loads(directory(tmp_path, "delete", again, "--json")) == {"cid": cid, "deleted": True}


@pytest.mark.requirement("dir:cli:search")
def test_records_are_searched_by_words_and_filters(tmp_path: Path) -> None:
    first = pushed(tmp_path)
    second = pushed(tmp_path, name="example.org/gardener", version="v1.0.0", description="Waters plants.")
    listed = directory(tmp_path, "search")
    assert listed.index(second) < listed.index(first), "newest first"
    assert first not in directory(tmp_path, "search", "plants")
    told = json.loads(directory(tmp_path, "search", "--name", "*reader", "--version", ">=v2", "--json"))
    assert [one["cid"] for one in told["records"]] == [first]
    assert (told["total"], told["has_more"]) == (1, False)
    assert directory(tmp_path, "search", "--skill", "*nothing*") == ""
    assert directory(tmp_path, "search", "--created", ">=2999-01-01") == ""
    assert first in directory(tmp_path, "search", "--created", "<2999-01-01")
    assert first in directory(tmp_path, "search", "--module-id", str(sample("1.0.0")["modules"][0]["id"]))
    assert directory(tmp_path, "search", "--module-id", "9999") == ""
    assert "10*" in directory(tmp_path, "search", "--skill-id", "10*", code=1)


@pytest.mark.requirement("dir:cli:search", "dir:search:latest")
def test_a_search_shows_the_newest_versions_or_all_and_says_if_nothing_fits(tmp_path: Path) -> None:
    old = pushed(tmp_path)
    new = pushed(tmp_path, version="v9.0.0")
    words = ("search", "paper reader summaries")
    assert (old in directory(tmp_path, *words), old in directory(tmp_path, *words, "--all-versions")) == (False, True)
    assert old in directory(tmp_path, "search", "--name", "*reader")
    assert directory(tmp_path, "search", "--name", "*reader", "--latest").count(new) == 1
    assert old not in directory(tmp_path, "search", "--name", "*reader", "--latest")
    weak = "reader of minds, tides, bees, stars and clocks"
    assert json.loads(directory(tmp_path, "search", weak, "--json"))["no_good_match"] is True
    done = run("directory", "search", weak, "--data", str(tmp_path / "data"), home=tmp_path)
    assert (new in done.stdout, "No good match" in done.stderr) == (True, True)


@pytest.mark.requirement("dir:cli:import", "dir:hostile:bundles")
def test_a_folder_is_imported_and_bad_sources_are_told(tmp_path: Path) -> None:
    saved(tmp_path, "agents/agent-card.json", CARD)
    saved(tmp_path, "agents/server.json", SERVER)
    saved(tmp_path, "agents/forms/SKILL.md", SKILL)
    dry = directory(tmp_path, "import", "agents", "--dry-run")
    assert len(dry.splitlines()) == 3
    assert directory(tmp_path, "search") == "", "a dry run stores nothing"
    assert directory(tmp_path, "import", "agents") == dry, "the same sources, the same CIDs"
    again = json.loads(directory(tmp_path, "import", "agents", "--json"))
    assert {one["status"] for one in again} == {"already there"}
    slipping = io.BytesIO()
    with zipfile.ZipFile(slipping, "w") as archive:
        archive.writestr("SKILL.md", SKILL)
        archive.writestr("../../outside.txt", "x")
    (tmp_path / "agents" / "slip.zip").write_bytes(slipping.getvalue())
    told = directory(tmp_path, "import", "agents", code=1)
    assert "leads out of its folder" in told
    assert "4 sources: 0 imported, 3 already there, 1 bad." in told
    assert not (tmp_path.parent / "outside.txt").exists()
    assert "does not exist" in directory(tmp_path, "import", "nowhere", code=2)


@pytest.mark.requirement("dir:import:valid-record", "dir:import:conversion", "dir:import:unmapped")
def test_imported_records_keep_their_cids_unless_another_version_is_asked_for(tmp_path: Path) -> None:
    for version in ("0.7.0", "0.8.0", "1.0.0", "1.1.0"):
        saved(tmp_path, f"records/{version}.json", sample(version))
    imported = {line.split()[0] for line in directory(tmp_path, "import", "records").splitlines()}
    stdin = json.dumps(sample("0.8.0"))
    assert directory(tmp_path, "push", "-", stdin=stdin).strip() in imported
    assert len(imported) == 4
    skill = {"name": "natural_language_processing/natural_language_understanding", "id": 101}
    more = {"version": "v2.5.0", "skills": [skill, *sample("1.0.0")["skills"]]}
    only = saved(tmp_path, "only.json", sample("1.0.0") | more)
    told = directory(tmp_path, "import", only, "--schema-version", "1.1.0", code=1)
    assert f"The skill '{skill['name']}' has no counterpart in OASF 1.1.0" in told
    assert "converted from 1.0.0 to 1.1.0" in told
    (one,) = json.loads(
        directory(tmp_path, "import", only, "--schema-version", "1.1.0", "--allow-unmapped", "--json")
    )  # fmt: skip
    assert (one["status"], one["unmapped"]) == ("imported", [{"family": "skill", "name": skill["name"]}])
    assert "no counterpart" in directory(tmp_path, "migrate", only, "--to", "1.1.0", "--push", code=1)
    assert directory(tmp_path, "migrate", only, "--to", "1.1.0", "--push", "--allow-unmapped").strip() == one["cid"]


@pytest.mark.requirement("dir:import:secrets", "dir:import:suspicious")
def test_an_imported_configuration_leaves_its_secrets_behind(tmp_path: Path) -> None:
    server = {"description": "Summarizes notes.", "command": "x", "args": ["--api-key", WORD], "env": {"MODE": "fast"}}
    other = {"description": "Summarizes notes.", "url": f"https://x.example.org/mcp?key={HEX}"}
    saved(tmp_path, "mcp.json", {"mcpServers": {"notes": server, "more": other}})
    done = run("directory", "import", "mcp.json", "--data", str(tmp_path / "data"), home=tmp_path)
    assert done.returncode == 0, done
    assert "mcp.json#notes: servers.notes.args[1] was withheld (key-name)" in done.stderr
    assert "mcp.json#more: servers.more.url was withheld (key-name)" in done.stderr
    told = directory(tmp_path, "import", "mcp.json", "--json")
    assert [one["withheld"] for one in json.loads(told)] == [
        [{"path": "servers.notes.args[1]", "kind": "key-name"}], [{"path": "servers.more.url", "kind": "key-name"}],
    ]  # fmt: skip
    saved(tmp_path, "doubtful.json", {"mcpServers": {"notes": {**server, "env": {"NOTE": MIXED}}}})
    refused = directory(tmp_path, "import", "doubtful.json", code=1)
    assert "values that look like secrets would be published: mcpServers.notes.env.NOTE (random)" in refused
    withheld = directory(tmp_path, "import", "doubtful.json", "--suspicious", "withhold")
    assert "doubtful.json" in withheld
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    seen = done.stdout + done.stderr + told + refused + "".join(path.read_bytes().decode("latin-1") for path in files)
    assert not [secret for secret in (WORD, HEX, MIXED) if secret in seen]
    assert "doubtful.json" in directory(tmp_path, "import", "doubtful.json", "--suspicious", "keep")
    assert "refuse|withhold|keep" in run("directory", "import", "--help", home=tmp_path).stdout


@pytest.mark.requirement("dir:cli:export", "dir:cli:migrate", "dir:cli:diff")
def test_records_are_exported_migrated_and_compared(tmp_path: Path) -> None:
    card = saved(tmp_path, "card.json", CARD)
    directory(tmp_path, "import", card)
    assert json.loads(directory(tmp_path, "export", "Route planner", "--to", "a2a")) == CARD
    whole = json.loads(directory(tmp_path, "export", "Route planner", "--to", "a2a", "--json"))
    assert (whole["format"], json.loads(whole["exported_data"])) == ("a2a", CARD)
    assert {"path": "skills", "reason": "a card has no place for it"} in whole["losses"]
    assert "A2A module not found" in directory(tmp_path, "export", "-", "--to", "a2a", stdin=_bare(), code=1)
    assert "Unsupported target format" in directory(tmp_path, "export", card, "--to", "a3a", code=2)
    old = saved(tmp_path, "old.json", sample("0.7.0"))
    assert "'9.9.9' is not one of" in directory(tmp_path, "migrate", old, "--to", "9.9.9", code=2)
    assert directory(tmp_path, "migrate", old, "--to", "1.1.0", "--out", "new.json") == ""
    assert directory(tmp_path, "validate", "new.json") == ""
    cid = directory(tmp_path, "migrate", old, "--to", "1.1.0", "--push").strip()
    assert json.loads(directory(tmp_path, "pull", cid)) == json.loads((tmp_path / "new.json").read_text())
    assert directory(tmp_path, "diff", cid, "new.json") == "The records are equivalent.\n"
    assert "schema_version" in directory(tmp_path, "diff", old, "new.json")
    assert json.loads(directory(tmp_path, "diff", old, "new.json", "--json"))["same"] is False


def _bare() -> str:
    return json.dumps({**sample("1.0.0"), "modules": []})


@pytest.mark.requirement("dir:cli:trust", "dir:cli:history")
def test_a_record_is_signed_and_verified_and_has_a_lineage(tmp_path: Path) -> None:
    cid = pushed(tmp_path)
    assert directory(tmp_path, "verify", cid, code=1) == "not trusted: no signatures found\n"
    assert directory(tmp_path, "sign", cid) == ""
    assert directory(tmp_path, "verify", NAME) == "trusted\n"
    told = json.loads(directory(tmp_path, "verify", cid, "--json"))
    assert told["signers"][0]["issuer"] == "key:Ed25519"
    key = saved(tmp_path, "key.pub", told["signers"][0]["identity"])
    assert directory(tmp_path, "verify", cid, "--key", str(tmp_path / key)) == "trusted\n"
    newer = pushed(tmp_path, version="v3.0.0")
    lines = directory(tmp_path, "lineage", NAME).splitlines()
    assert [line.split()[2] for line in lines[1:]] == [cid, newer]
    steps = json.loads(directory(tmp_path, "lineage", NAME, "--json"))
    assert [(one["cid"], one["created_at"]) for one in steps] == [
        (cid, sample("1.0.0")["created_at"]), (newer, sample("1.0.0")["created_at"]),
    ]  # fmt: skip
    assert directory(tmp_path, "versions").splitlines()[-1] == "1.1.0 (default)"
