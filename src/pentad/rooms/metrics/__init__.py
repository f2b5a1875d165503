"""Metrics of platforms, of this machine and of Pentad itself, with their history. Missing values are never zeros."""
