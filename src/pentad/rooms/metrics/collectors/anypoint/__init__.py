"""The Anypoint platform: twelve collectors over one set of facts."""
