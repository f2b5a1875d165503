"""The committed protobuf code matches the .proto files, and the server implements every declared method."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from pentad.kernel.default_limits import Limits
from pentad.rooms.directory.interface.grpc.server import services
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.wire import protos
from tests.rooms.directory.interface.grpc.site import METHODS

FOLDER = Path(protos.__file__).parent
SOURCE = FOLDER.parents[4]


def test_the_generated_code_is_up_to_date(tmp_path: Path) -> None:
    messages = sorted(FOLDER.glob("*.proto"))
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", str(SOURCE)]
    command += [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    subprocess.run([*command, *map(str, messages)], check=True, cwd=SOURCE)
    made = sorted((tmp_path / FOLDER.relative_to(SOURCE)).iterdir())
    committed = sorted(path for path in FOLDER.iterdir() if "_pb2.py" in path.name)
    assert [path.name for path in made] == [path.name for path in committed]
    for ours, fresh in zip(committed, made, strict=True):
        assert ours.read_text(encoding="utf-8") == fresh.read_text(encoding="utf-8"), "run make protos"


def test_every_method_is_served_in_the_shape_its_message_file_says() -> None:
    """Without a directory: the tables of methods are made before anything is asked of them."""
    nothing = no_directory()
    served = {
        (service, name): method.shape
        for service, methods in services(nothing).items()
        for name, method in methods.items()
    }
    kinds = {False: "one", True: "many"}
    declared = {
        (method.containing_service.full_name, method.name): (
            f"{kinds[method.client_streaming]}-{kinds[method.server_streaming]}"
        )
        for method in METHODS.values()
    }
    assert served == declared


def test_requests_are_read_as_the_message_their_method_takes() -> None:
    for service, methods in services(no_directory()).items():
        for name, method in methods.items():
            if method.request is not None:
                declared = METHODS[f"{service.rpartition('.')[2]}/{name}"].input_type
                assert method.request.DESCRIPTOR is declared, name


def no_directory() -> Directory:
    return cast("Directory", SimpleNamespace(platform=SimpleNamespace(limits=Limits())))
