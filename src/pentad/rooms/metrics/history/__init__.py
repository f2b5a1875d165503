"""The history of metrics: recording, roll-ups, changes, alerts and forecasts."""
