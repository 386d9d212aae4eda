"""Linear models of a random sketch of the inputs, whose errors are power laws in its size and the number of points."""

from bfc_plugins.power_laws.sketched_ridge import SketchedRidge
from bfc_plugins.power_laws.sketched_sgd import SketchedSgd

LEARNERS = (SketchedRidge, SketchedSgd)
