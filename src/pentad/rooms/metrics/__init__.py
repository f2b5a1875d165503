"""Metrics: what a platform, a machine and Pentad itself measure, with history and honest gaps."""
