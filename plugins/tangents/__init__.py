"""Neural tangent kernels on the sphere, of raw inputs and of a random representation."""
