"""Console pages about the objects of a register and schema."""
