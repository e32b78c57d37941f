"""The PhysioNet/Computing in Cardiology Challenge 2019: two hospital systems that record differently, open to all."""
