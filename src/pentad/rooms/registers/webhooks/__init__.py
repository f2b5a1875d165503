"""Webhooks: registration, matching with changes, and delivery."""
