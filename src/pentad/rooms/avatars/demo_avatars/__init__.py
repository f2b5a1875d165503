"""The folders of the demo avatars, and a writer that turns some of their texts into PDF."""
