"""What things are: plain values, standard library only."""
