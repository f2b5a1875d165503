"""Schema definitions: what they mean, how objects are validated against them. Pure, without I/O."""
