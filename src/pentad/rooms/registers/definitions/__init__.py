"""Schema definitions: their meaning, and how objects are validated against them. Pure, without I/O."""
