"""Two real hospitals whose losses are known: masks that are transplanted or drawn, and the shift as it is."""
