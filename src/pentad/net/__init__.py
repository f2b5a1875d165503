"""Outgoing HTTP with SSRF checks, and the HTTP server with its limits."""
