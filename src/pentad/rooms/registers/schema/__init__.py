"""Tables of the registers room."""
