"""Imports and exports objects as CSV, Excel, JSON and JSON Lines."""
