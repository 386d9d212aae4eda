"""Convolutional networks on images: trained jointly or layer by layer, their tangent models and their kernels."""

from bfc_plugins.convolutional.correction import ConvCorrection
from bfc_plugins.convolutional.fixed_head import ConvFixedHead
from bfc_plugins.convolutional.grow import ConvGrow
from bfc_plugins.convolutional.joint import ConvJoint
from bfc_plugins.convolutional.kernel import ConvKernel
from bfc_plugins.convolutional.layerwise import ConvLayerwise
from bfc_plugins.convolutional.tangent import ConvTangent

LEARNERS = (ConvCorrection, ConvFixedHead, ConvGrow, ConvJoint, ConvKernel, ConvLayerwise, ConvTangent)
