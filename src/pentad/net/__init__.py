"""Outgoing HTTP with SSRF checks, and the HTTP server with its limits."""

import os

# gRPC's fork handlers print a line for every child process we start. None of our children uses gRPC.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
