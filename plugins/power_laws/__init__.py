"""Linear models of a random sketch of the inputs, whose errors are power laws in its size and the number of points."""
