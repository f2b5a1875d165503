"""Tables of the protocol core."""
