"""Avatars: experts that answer from a corpus alone and cite every statement."""
