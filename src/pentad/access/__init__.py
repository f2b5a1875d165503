"""Authentication, API keys, rate limits, encryption at rest and the audit trail."""
