"""How good avatars answer and verify on corpora that nobody tuned for, and how fast documents are read."""
