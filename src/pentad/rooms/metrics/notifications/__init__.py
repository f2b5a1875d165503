"""Alerts delivered to receivers: grouped, repeated, silenced and resolved."""
