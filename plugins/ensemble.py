"""The mean of several fits of any learner, which differ in their random numbers: ``ensemble:quad-densenet``."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, create_model, model_validator

from bfc_bench.learner import Array, BatchLearner, Cost, DataSpec, Failure, Job, Learner, Predictor, TaskFacts
from bfc_bench.seeds import seed_of


class Ensemble(BatchLearner):
    """The mean of the predictions of ``members`` fits of a learner (the ensembles of BFC Figures 9 and 12).

    Name it as ``ensemble:LEARNER``; the options are the learner's, and ``members``. All members see the same points.
    The first has the seed that the learner has on its own, and is the stage ``single``; the others have other seeds.
    Scores of classes, margins and probabilities are averaged too.
    """

    name: ClassVar[str] = "ensemble"
    example: ClassVar[str | None] = "random-features"
    of: ClassVar[type[Learner] | None] = None

    members: Annotated[int, Field(ge=2)] = 10
    """Number of fits."""
    _single: Learner
    """The learner of each member."""

    @classmethod
    def variant(cls, path: str) -> type[Learner]:
        """The ensemble of the learner called ``path``. Raises ``UsageError`` for an unknown learner."""
        return _variant(path)

    @model_validator(mode="after")
    def _is_valid(self) -> Self:
        if self.of is None:
            raise ValueError("name a learner: ensemble:LEARNER, for example ensemble:quad-densenet")
        options = self.model_dump(include=self.model_fields_set - {"members"}, by_alias=True)
        self._single = self.of.parse(options, self.name)
        return self

    def batch_key(self, train: DataSpec) -> Hashable:
        """The key of the members."""
        return self._single.batch_key(train)

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit the members of all jobs together."""
        members: list[Job[Any]] = []
        for job in jobs:
            others = [seed_of(job.ctx.seed, "ensemble", member) for member in range(1, job.learner.members)]
            single = job.learner._single
            members += [Job(single, job.train, replace(job.ctx, seed=seed)) for seed in (job.ctx.seed, *others)]
        outcomes = iter(type(members[0].learner).fit_batch(members))
        return [_joined([next(outcomes) for _ in range(job.learner.members)]) for job in jobs]

    def cost(self, n: int, d: int) -> Cost | None:
        """That of all members. Memory that does not grow with n, such as that of libraries, is taken once."""
        cost, smallest, count = self._single.cost(n, d), self._single.cost(1, d), self.members
        if cost is None or smallest is None:
            return None
        kept = 8.0 * (cost.parameters or 0)
        return replace(
            cost,
            flops=count * cost.flops,
            bytes=smallest.bytes + count * (cost.bytes - smallest.bytes + kept),
            seconds=count * cost.seconds,
            counted=count * cost.fit_flops,
            parameters=None if cost.parameters is None else count * cost.parameters,
        )

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """As the learner."""
        return self._single.skip(task, n)

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """As the learner."""
        return self._single.caution(task, n)

    def oracle(self) -> frozenset[str]:
        """As the learner."""
        return self._single.oracle()

    def libraries(self) -> frozenset[str]:
        """As the learner."""
        return self._single.libraries()

    def takes_frames(self) -> bool:
        """As the learner."""
        return self._single.takes_frames()

    def assumes(self) -> Mapping[str, Any]:
        """As the learner."""
        return self._single.assumes()


@dataclass(frozen=True)
class EnsemblePredictor(Predictor):
    """The mean of the members' predictions."""

    members: tuple[Predictor, ...]
    info: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, Predictor] = field(default_factory=dict)
    caution: str = ""

    def predict(self, x: Array) -> Array:
        """Mean predictions (m,), or mean scores (m, C), at x (m, d)."""
        return sum(member.predict(x) for member in self.members) / len(self.members)

    def probabilities(self, x: Array) -> Array | None:
        """Mean probabilities, if the members have any."""
        each: list[Array] = [member.probabilities(x) for member in self.members]
        return None if each[0] is None else sum(each) / len(each)


def _joined(outcomes: Sequence[Predictor | Failure]) -> Predictor | Failure:
    """The ensemble; the failure of a member is that of the ensemble."""
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            return outcome
    members = tuple(outcome for outcome in outcomes if isinstance(outcome, Predictor))
    single = members[0]
    cautions = dict.fromkeys(member.caution for member in members if member.caution)
    return EnsemblePredictor(members, single.info, {"single": single}, "; ".join(cautions))


@cache
def _variant(path: str) -> type[Ensemble]:
    from bfc_bench.plugins.manager import load_plugins

    learner = load_plugins().learner(path)
    options: dict[str, Any] = {name: (option.annotation, option) for name, option in learner.model_fields.items()}
    cls = create_model(f"{learner.__name__}Ensemble", __base__=Ensemble, __module__=__name__, **options)
    cls.__doc__ = f"The mean of the predictions of several fits of ``{path}``, which differ in their random numbers."
    cls.name, cls.of, cls.example = f"{Ensemble.name}:{path}", learner, None
    cls.version = Ensemble.version + learner.version - 1
    cls.capabilities = replace(learner.capabilities, one_pass=False)
    cls.search, cls.smoke = learner.search, {**learner.smoke, "members": 2}
    return cls
