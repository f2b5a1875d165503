"""The committed code is what the committed messages generate."""

import subprocess
import sys
from pathlib import Path

from pentad.rooms.agents.codecs import protos

FOLDER = Path(protos.__file__).parent
SOURCE = FOLDER.parents[4]


def test_the_generated_code_is_up_to_date(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", str(SOURCE)]
    command += [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    subprocess.run([*command, *map(str, FOLDER.glob("*.proto"))], check=True, cwd=SOURCE)
    made = sorted((tmp_path / FOLDER.relative_to(SOURCE)).iterdir())
    committed = sorted(path for path in FOLDER.iterdir() if "_pb2.py" in path.name)
    assert [path.name for path in made] == [path.name for path in committed]
    for ours, fresh in zip(committed, made, strict=True):
        assert ours.read_text(encoding="utf-8") == fresh.read_text(encoding="utf-8"), "run make protos"
