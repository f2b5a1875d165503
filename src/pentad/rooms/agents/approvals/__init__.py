"""Approvals: agents wait for people to decide."""
