"""The study of what to do when: every method under known mechanisms of loss and shift, and what can be seen of them."""
