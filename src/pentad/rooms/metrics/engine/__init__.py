"""From a query to an answer: plan, requests, cache, size."""
