"""From a question to an answer: what is wanted, the plan, the fetching, the shape."""
