"""Avatars: answers that come only from a corpus."""
