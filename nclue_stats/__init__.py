"""Statistics of the study: intervals, tests, sensitivity, agreement."""
