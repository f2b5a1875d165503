"""Approvals: what agents wait for people to decide."""
