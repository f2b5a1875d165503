"""One search for every room: words and vectors, fused and explained."""
