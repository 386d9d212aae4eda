"""Convolutional networks on images: trained jointly or layer by layer, their tangent models and their kernels."""
