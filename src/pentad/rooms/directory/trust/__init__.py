"""Trust: signatures of records, the trust policy, and domains that vouch for names."""
