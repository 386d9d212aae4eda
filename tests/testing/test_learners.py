"""The conformance kit passes a correct learner and names the one requirement that each faulty learner violates."""

import warnings
from typing import ClassVar

import faulty_learners as faulty
import jax
import numpy as np
import pytest
from faulty_learners import BATCH, FAULTS, Complete, Linear, Plain, learner, narrow

from bfc_bench.errors import UsageError
from bfc_bench.learner import Capabilities, Predictor
from bfc_bench.testing import Check, CheckReport, check_learner, description, fitting
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.learner_trial import LearnerTrial
from bfc_bench.testing.requirement import requirements_of
from bfc_bench.testing.subprocess_check import check_in_subprocess


def names(report, outcome):
    return [check.name for check in report.checks if check.outcome == outcome]


def test_a_learner_that_gives_everything_passes_every_requirement():
    report = check_learner(Complete)
    assert report.passed == len(report.checks)


def test_a_learner_that_gives_the_least_passes_and_the_rest_is_skipped_with_a_reason():
    report = check_learner(Plain)
    assert report.failed == 0
    assert report.passed >= 15
    assert {"stages predict", BATCH, "cost grows with n"} <= set(names(report, "skipped"))
    assert all(check.reason for check in report.checks if check.outcome == "skipped")


@pytest.mark.parametrize(("requirement", "words", "cls"), FAULTS, ids=[f"{name}: {words}" for name, words, _ in FAULTS])
def test_exactly_the_violated_requirement_fails_and_says_why(requirement, words, cls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = check_learner(cls, strict=False)
    assert names(report, "failed") == [requirement]
    [reason] = [check.reason for check in report.checks if check.outcome == "failed"]
    assert words in reason


def test_every_requirement_can_be_violated():
    tested = [each.name for module in (description, fitting) for each in requirements_of(module)]
    assert sorted(set(tested)) == sorted({requirement for requirement, *_ in FAULTS})
    assert len(tested) == len(set(tested))


def test_a_warning_is_nothing_printed():
    warning = faulty.doing(lambda: warnings.warn("few points", stacklevel=1))
    fitting.nothing_else_is_changed.test(LearnerTrial(warning, {}))


def test_the_kit_restores_global_state():
    with preserved() as changed:
        for requirement, _, cls in FAULTS:
            if requirement == faulty.CHANGED:
                check_learner(cls, strict=False)
    assert not changed


def test_strict_raises_with_every_violated_requirement_and_nothing_else():
    with pytest.raises(AssertionError) as error:
        check_learner(learner(name="two faults", search={"rigde": [1.0]}))
    text = str(error.value)
    assert text.startswith("two faults: ")
    assert all(words in text for words in ("has a name", "search values", "2 failed"))
    assert "passed " not in text.split("\n", 1)[1]


def test_an_instance_is_checked_with_its_own_options():
    class Picky(Plain):
        """Fits with a large ridge only."""

        def fit(self, train, ctx):
            if self.ridge < 5:
                raise ValueError("ridge is too small")
            return super().fit(train, ctx)

    assert check_learner(Picky, strict=False).failed == 1
    assert check_learner(Picky(ridge=7.0)).failed == 0


@pytest.mark.parametrize(("factor", "failed"), [(1.0001, []), (1.01, [BATCH])])
def test_a_batch_may_differ_from_single_fits_by_rounding_only(factor, failed):
    class Rough(Complete):
        """Rounds differently in batches."""

        @classmethod
        def fit_batch(cls, jobs):
            predictors = super().fit_batch(jobs)
            for predictor in predictors:
                predictor.weights = predictor.weights * factor
            return predictors

    assert names(check_learner(Rough, strict=False), "failed") == failed


def test_of_a_learner_that_skips_the_task_of_the_kit_only_the_description_is_tested():
    class Elsewhere(Plain):
        """Works on the hypercube only."""

        def skip(self, task, n):
            return None if task.inputs == "hypercube" else f"needs inputs on the hypercube, not {task.inputs}"

    report = check_learner(Elsewhere)
    assert report.failed == 0
    skipped = {check.name: check.reason for check in report.checks if check.outcome == "skipped"}
    assert "needs inputs on the hypercube" in skipped["fit returns a predictor"]
    assert faulty.ALONE in skipped


def test_a_kind_of_labels_that_is_skipped_hides_no_other_one():
    class Choosy(Plain):
        """Fits classes wrongly."""

        capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary", "class"}))

        def skip(self, task, n):
            return "two classes are too few" if task.kind == "binary" else None

    assert names(check_learner(Choosy, strict=False), "failed") == ["every label kind is taken"]


def test_a_learner_for_the_sphere_is_fitted_on_the_sphere():
    class Spherical(Plain):
        """Works on the sphere only."""

        def skip(self, task, n):
            return None if task.inputs == "sphere" else f"needs inputs on the sphere, not {task.inputs}"

        def fit(self, train, ctx):
            assert np.allclose(np.linalg.norm(train.x, axis=1), 1)
            return super().fit(train, ctx)

    report = check_learner(Spherical)
    assert report.failed == 0
    assert "fit returns a predictor" in {check.name for check in report.checks if check.outcome == "passed"}


def test_a_learner_of_variants_is_represented_by_its_example():
    class Variants(Plain):
        """Cannot be used without a path."""

        name: ClassVar[str] = "variants"
        example: ClassVar[str | None] = "good"

        @classmethod
        def variant(cls, path):
            class Variant(Plain):
                """Is one of the variants."""

                name: ClassVar[str] = f"variants:{path}"

            return Variant

        def fit(self, train, ctx):
            raise NotImplementedError

    assert check_learner(Variants).name == "variants:good"


@pytest.mark.parametrize("what", [int, "plain", Linear])
def test_only_learners_can_be_checked(what):
    with pytest.raises(UsageError, match=r"expects a bfc_bench\.Learner"):
        check_learner(what)


@pytest.mark.parametrize("checks", [(), (Check("a requirement", "skipped", "no reason"),)])
def test_a_report_without_a_tested_requirement_is_a_failure(checks):
    report = CheckReport("learner", tuple(checks))
    assert not report.ok


@pytest.mark.parametrize(
    ("name", "seconds", "requirement", "words"),
    [
        ("Crashes", 600, "fit needs no more than its points", "the worker process was ended by SIGSEGV"),
        ("Hangs", 5, "fit returns a predictor", "did not return within 5 s and was stopped"),
    ],
)
def test_a_learner_that_ends_its_process_fails_the_tested_requirement(name, seconds, requirement, words, capfd):
    [report] = check_in_subprocess(f"faulty_learners:{name}", seconds=seconds)
    assert report.name == name.lower()
    assert capfd.readouterr().out.splitlines() == [report.name, *map(str, report.checks)]
    failed = [(check.name, check.reason) for check in report.checks if check.outcome == "failed"]
    assert failed[0] == (requirement, words)
    assert {reason for _, reason in failed} == {words}


class OnJax(Plain):
    """Gets float32 arrays of JAX and returns such arrays."""

    name: ClassVar[str] = "on-jax"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("jax",))

    def fit(self, train, ctx):
        class Mean(Predictor):
            mean = jax.numpy.mean(train.y)

            def predict(self, x):
                return self.mean + 0 * x[:, 0]

        return Mean()


@pytest.mark.parametrize("cls", [narrow("float32"), narrow("float64 or float32"), OnJax])
def test_float32_that_is_stated_or_given_is_no_fault(cls):
    assert "precision is stated" in names(check_learner(cls, strict=False), "passed")
