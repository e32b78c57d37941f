"""What to do when: every method under losses and shifts whose mechanism is known, beside what can be seen of it."""
