"""Python environments of the foreign libraries, created once under `.cache/interop/`.

They are never installed next to Pentad, so that it cannot come to depend on their packages.
"""

import re
import subprocess
import sys
from pathlib import Path

from tests.conformance.server import REPOSITORY
from tests.installed_once import installed_once

SDK = "mcp==2.3.0"
SDK_1 = "mcp==1.30.0"
FASTMCP = "fastmcp-slim[client]==4.1.4"
PLAYWRIGHT = "playwright==1.65.0"
DIRECTORY_CLIENT = "agntcy-dir==1.0.0"
AGENTVAULT = ("agentvault==0.2.1", "agentvault-server-sdk==0.1.1", "uvicorn")
OIDC_MOCK = "oidc-provider-mock==0.3.4"
SCHEMATHESIS = "schemathesis==4.32.5"
A2A_03 = ("a2a-sdk[signing]==0.3.26",)
A2A_10 = ("a2a-sdk[signing]==1.0.3",)
A2A = ("a2a-sdk[grpc,http-server,signing]==1.3.0", "uvicorn")
OCR = "rapidocr==3.10.0"
LANGGRAPH = ("langgraph==1.2.20", "langchain-core==1.7.2")


def sdk_python() -> Path:
    """An interpreter that has the official SDK and nothing of Pentad."""
    return _python_with(SDK)


def sdk_1_python() -> Path:
    """An interpreter that has the official SDK's first major version and nothing of Pentad."""
    return _python_with(SDK_1)


def fastmcp_python() -> Path:
    """An interpreter that has fastmcp and nothing of Pentad."""
    return _python_with(FASTMCP)


def playwright_python() -> Path:
    """An interpreter that can drive a browser. It contains none: the machine's Chromium is used."""
    return _python_with(PLAYWRIGHT)


def directory_python() -> Path:
    """An interpreter that has the directory's own client and nothing of Pentad."""
    return _python_with(DIRECTORY_CLIENT)


def agentvault_python() -> Path:
    """An interpreter that has AgentVault's client and server library and nothing of Pentad."""
    return _python_with(*AGENTVAULT)


def a2a_python() -> Path:
    """An interpreter that has the official A2A library and nothing of Pentad."""
    return _python_with(*A2A)


def a2a_03_python() -> Path:
    """An interpreter that has the official A2A library of version 0.3 and nothing of Pentad."""
    return _python_with(*A2A_03)


def a2a_10_python() -> Path:
    """An interpreter that has an early version 1 of the official A2A library and nothing of Pentad."""
    return _python_with(*A2A_10)


def langgraph_packages() -> Path:
    """The folder of LangGraph's and LangChain's packages, for a Pentad that hosts their objects."""
    return next(_python_with(*LANGGRAPH).parent.parent.glob("lib/python*/site-packages"))


def ocr_packages() -> Path:
    """The folder with the packages of the extra `ocr`, for a Pentad that recognizes text."""
    return next(_python_with(OCR).parent.parent.glob("lib/python*/site-packages"))


def oidc_mock_python() -> Path:
    """An interpreter that has an identity provider for tests and nothing of Pentad."""
    return _python_with(OIDC_MOCK)


def schemathesis_python() -> Path:
    """An interpreter that has schemathesis and nothing of Pentad."""
    return _python_with(SCHEMATHESIS)


def _python_with(*packages: str) -> Path:
    """The first package names the environment."""
    folder = REPOSITORY / ".cache" / "interop" / re.sub(r"\[.*\]", "", packages[0]).replace("==", "-")
    python, uv = folder / "bin" / "python", Path(sys.executable).with_name("uv")

    def install() -> None:
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True, stdout=sys.stderr)

    installed_once(folder, "\n".join(packages), install)
    return python
