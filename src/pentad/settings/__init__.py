"""Everything an operator can set, in layers that remember where each value came from."""
