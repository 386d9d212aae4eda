"""The small data sets that scikit-learn ships."""

from typing import Any, ClassVar

import numpy as np

from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints


class Diabetes(DataSet):
    """Progression of diabetes after a year: 442 patients, 10 columns, real values. Efron et al. (2004)."""

    kind: ClassVar[str] = "diabetes"

    def load(self) -> DataSetContents:
        """x (442, 10) in the units of measurement, y (442,)."""
        from sklearn.datasets import load_diabetes

        bunch: Any = load_diabetes(scaled=False)
        return DataSetContents(LabelledPoints(bunch.data, bunch.target), columns=tuple(bunch.feature_names))


class Wine(DataSet):
    """Three cultivars by chemical analysis: 178 wines, 13 columns. Aeberhard and Forina (1991)."""

    kind: ClassVar[str] = "wine"

    def load(self) -> DataSetContents:
        """x (178, 13), y (178,)."""
        from sklearn.datasets import load_wine

        return _classes(load_wine())


class BreastCancer(DataSet):
    """Malignant or benign: 569 tumours, 30 columns. Wolberg, Mangasarian, Street and Street (1993)."""

    kind: ClassVar[str] = "breast-cancer"

    def load(self) -> DataSetContents:
        """x (569, 30), y (569,)."""
        from sklearn.datasets import load_breast_cancer

        return _classes(load_breast_cancer())


class Digits(DataSet):
    """Ten digits, written by hand: 1,797 images of 8 x 8 in 17 shades. Alpaydin and Kaynak (1998)."""

    kind: ClassVar[str] = "digits"

    def load(self) -> DataSetContents:
        """x (1797, 64) in [0, 1], y (1797,)."""
        from sklearn.datasets import load_digits

        bunch: Any = load_digits()
        points = LabelledPoints(bunch.data.astype(np.uint8), bunch.target)
        return DataSetContents(points, classes=tuple(map(str, bunch.target_names)), shape=(1, 8, 8), divisor=16.0)


def _classes(bunch: Any) -> DataSetContents:
    points, names = LabelledPoints(bunch.data, bunch.target), tuple(map(str, bunch.target_names))
    return DataSetContents(points, classes=names, columns=tuple(bunch.feature_names))
