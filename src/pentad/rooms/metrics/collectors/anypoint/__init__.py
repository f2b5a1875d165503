"""The Anypoint platform: thirteen collectors that share one set of facts."""
