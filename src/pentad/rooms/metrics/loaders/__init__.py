"""Figures in other systems' words: files, searches, telemetry. Pure, but for the one module that sends."""
