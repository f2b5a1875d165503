"""Three made-up organisations and what they keep in their registers."""
