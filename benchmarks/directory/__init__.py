"""Benchmarks of the directory."""
