"""The tables of the avatars room."""
