"""The room over ordinary HTTP: OpenRegister's REST routes, and what Pentad adds to them."""
