"""Agents publish records of themselves here, and are found by them."""
