"""Federation: follows other directories, and searches them."""
