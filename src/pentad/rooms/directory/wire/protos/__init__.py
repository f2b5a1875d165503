"""The messages of the directory API (`*.proto`) and what `make protos` generates from them."""
