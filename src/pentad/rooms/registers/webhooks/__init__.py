"""Webhooks: registered, matched with changes, and delivered."""
