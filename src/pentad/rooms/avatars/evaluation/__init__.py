"""Scores avatars on their own corpora, and with questions their authors wrote."""
