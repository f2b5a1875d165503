"""Who may do what: authorization blocks, organisations, and the rules that combine them."""
