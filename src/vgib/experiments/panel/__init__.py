"""Sixty textbook molecules, and the part of each that a chemist would point at."""
