"""What Pentad is measured against; these scripts run in an environment of their own."""
