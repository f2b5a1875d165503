"""Federation: the directories that this one follows, and searches among them."""
