"""How an avatar answers questions, and how drafts and citations are verified for callers."""
