"""Side by side with the named peers, in one run: `python -m benchmarks`."""
