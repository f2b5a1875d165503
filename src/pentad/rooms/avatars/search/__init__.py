"""Searches one avatar's corpus, and finds the avatar to ask."""
