"""report.html, and the words a run ends with."""
