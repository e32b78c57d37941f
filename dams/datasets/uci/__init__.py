"""The UCI data sets: which files, where they can be had, how they are read and prepared."""
