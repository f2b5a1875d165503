"""What was measured: samples, roll-ups, changes, alerts and forecasts."""
