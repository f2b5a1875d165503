"""Records of agents, kept under the hash of their content, and what is known of them."""
