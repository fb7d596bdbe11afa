"""Many documents through both: windows, executors, limits, progress, states, the folder."""
