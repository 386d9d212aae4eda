"""Learners with every fault that the framework must survive. The fixture ``faulty`` installs them."""

import ctypes
import math
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bfc_bench import (
    Capabilities,
    Context,
    Cost,
    Data,
    DataSpec,
    Diverged,
    Failure,
    Job,
    Learner,
    Predictor,
    hookimpl,
)
from bfc_bench.tasks.base import InputLaw, Inputs
from bfc_bench.tasks.inputs.uniform import Uniform


def in_worker() -> bool:
    """Whether this process is a worker, by a variable that only workers have."""
    return "JE_ARROW_MALLOC_CONF" in os.environ


def session() -> int:
    """Process id of the session of this worker, which is a fork of a process that the session has started."""
    fields = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


class Constant(Predictor):
    def __init__(self, value: float, shape: tuple[int, ...] | None = None) -> None:
        self.value, self.shape = value, shape

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.full(self.shape or len(x), self.value)


class Mean(Learner):
    """Predicts the mean of the training labels."""

    name: ClassVar[str] = "mean"
    shift: float = 0.0

    def fit(self, train: Data, ctx: Context) -> Predictor:
        return Constant(float(train.y.mean()) + self.shift)


class Slow(Mean):
    """Sleeps in fit."""

    name: ClassVar[str] = "slow"
    seconds: float = 0.3

    def fit(self, train: Data, ctx: Context) -> Predictor:
        time.sleep(self.seconds)
        return super().fit(train, ctx)


class Artist(Mean):
    """Has artifacts, or fails to make them in the way that ``how`` names."""

    name: ClassVar[str] = "artist"
    how: str = "well"
    marker: str = ""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        return ArtistPredictor(self.how, train.n, self.marker)


PNG = b"\x89PNG\r\n\x1a\n"
FILES: dict[str, Callable[[int], Any]] = {
    "well": lambda n: {"features.png": PNG + bytes([n]) * n, "facts.json": b'{"n": 1}'},
    "raises": lambda n: 1 // 0,
    "exits": lambda n: sys.exit(0),
    "list": lambda n: [b""],
    "path": lambda n: {"../../out.png": PNG},
    "hidden": lambda n: {".png": PNG},
    "ending": lambda n: {"run.sh": b"true"},
    "text": lambda n: {"a.csv": "1,2"},
    "not-png": lambda n: {"a.png": b"GIF89a"},
    "not-json": lambda n: {"a.json": b"{NaN}"},
    "not-text": lambda n: {"a.csv": b"\xff"},
    "case": lambda n: {"a.csv": b"", "A.csv": b""},
    "large": lambda n: {"a.csv": b"0" * 2_000_001, "b.csv": b"0" * 2_000_000},
    "many": lambda n: {f"{i}.csv": b"" for i in range(101)},
}
"""Functions of n that give the artifacts, by ``how``."""


class ArtistPredictor(Constant):
    def __init__(self, how: str, n: int, marker: str) -> None:
        super().__init__(0.0)
        self.how, self.n, self.marker = how, n, marker

    def artifacts(self) -> Any:
        if self.marker and not Path(self.marker).exists():
            return {"features.png": PNG + b"of the first run", "more.csv": b"x"}
        return FILES[self.how](self.n)


class Faulty(Learner):
    """Fails in the way that ``how`` names, at one size."""

    name: ClassVar[str] = "faulty"
    how: str
    at: int = 0
    """Size at which it fails; 0 for all."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        if self.at in (0, train.n):
            return self._fail()
        return Constant(float(train.y.mean()))

    def _fail(self) -> Predictor:
        match self.how:
            case "raise":
                raise ZeroDivisionError("one over nothing")
            case "hang":
                while True:
                    time.sleep(0.01)
            case "exit":
                os._exit(7)
            case "signal":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "diverge":
                raise Diverged("loss is NaN at step 12")
            case "memory":
                raise MemoryError("cannot allocate 1 TB")
            case "nan":
                return Constant(float("nan"))
            case "infinite":
                return Constant(float("inf"))
            case "shape":
                return Constant(0.0, (3, 2))
            case "nothing":
                return None  # type: ignore[return-value]
        return self._vanish()

    def _vanish(self) -> Predictor:
        match self.how:
            case "leave":
                os._exit(0)
            case "fork":
                if os.fork() == 0:
                    time.sleep(60)  # the child holds its parent's ends of all pipes
                os._exit(0)
            case "close":
                os.closerange(3, 1000)
                time.sleep(60)
        raise ValueError(self.how)


class Together(Faulty):
    """Fits all cells in one batch, which fails if one of them does."""

    name: ClassVar[str] = "together"

    def batch_key(self, train: DataSpec) -> Hashable:
        return "all"

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job]) -> Sequence[Predictor | Failure]:
        return [job.learner.fit(job.train, job.ctx) for job in jobs]


class Unpicklable(Exception):
    """Cannot be pickled."""

    def __reduce__(self) -> tuple[object, ...]:
        raise RuntimeError("stays here")


class Unprintable(Exception):
    """Cannot be converted to a text."""

    def __str__(self) -> str:
        raise RuntimeError("lost for words")


RAISED: dict[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(0),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "unpicklable": lambda: Unpicklable("stays here"),
    "unprintable": Unprintable,
    "surrogates": lambda: ValueError("half \ud800, \x1b[31mred\x1b[0m, \u202eturned"),
    "long": lambda: ValueError("a" * 10_000_000 + "z"),
}


class Raising(Mean):
    """Raises an unusual exception in one method, at one size."""

    name: ClassVar[str] = "raising"
    what: str
    where: str = "fit"
    at: int = 20

    def batch_key(self, train: DataSpec) -> Hashable:
        if self.where == "batch_key" and train.n == self.at and in_worker():
            raise RAISED[self.what]()
        return None

    def fit(self, train: Data, ctx: Context) -> Predictor:
        if train.n != self.at:
            return super().fit(train, ctx)
        if self.where == "fit":
            raise RAISED[self.what]()
        return RaisingPredictor(self.what, self.where)


class RaisingPredictor(Constant):
    def __init__(self, what: str, where: str) -> None:
        super().__init__(0.0)
        self.what, self.where = what, where

    def _reach(self, place: str) -> dict:
        if place == self.where:
            raise RAISED[self.what]()
        return {}

    def predict(self, x: np.ndarray) -> np.ndarray:
        self._reach("predict")
        return super().predict(x)

    def hidden(self, x: np.ndarray) -> dict[str, np.ndarray]:
        return self._reach("hidden")

    @property
    def info(self) -> dict[str, object]:
        return self._reach("info")

    @property
    def stages(self) -> dict[str, Predictor]:
        return self._reach("stages")


class Talkative(Mean):
    """Returns info, failures and predictions that no row can hold."""

    name: ClassVar[str] = "talkative"
    what: str

    def fit(self, train: Data, ctx: Context) -> Predictor:
        if train.n != 20:
            return super().fit(train, ctx)
        match self.what:
            case "status":
                return Failure("exploded", "of its own accord")  # type: ignore
            case "reason":
                return Failure("failed", None)  # type: ignore
            case "huge":
                return Constant(1e200)
        predictor = super().fit(train, ctx)
        predictor.info = {"fact": self._fact()}
        return predictor

    def _fact(self) -> object:
        match self.what:
            case "digits":
                return 10**5000
            case "object":
                return Unprintable()
            case "itself":
                circle: list[object] = []
                circle.append(circle)
                return circle
            case "much":
                return ["0123456789"] * 400_000
        raise ValueError(self.what)


class Ridge(Learner):
    """Linear ridge regression; its ridge is searched by default."""

    name: ClassVar[str] = "linear-ridge"
    search: ClassVar[dict] = {"ridge": [1e-6, 1.0, 1e6]}
    ridge: float = 1.0

    def fit(self, train: Data, ctx: Context) -> Predictor:
        gram = train.x.T @ train.x + self.ridge * np.eye(train.d)
        return Linear(np.linalg.solve(gram, train.x.T @ train.y))


class Linear(Predictor):
    def __init__(self, w: np.ndarray) -> None:
        self.w = w

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x @ self.w


class Spy(Learner):
    """Writes its arguments to a file."""

    name: ClassVar[str] = "spy"
    capabilities: ClassVar[Capabilities] = Capabilities(oracle=frozenset({"alphas"}))
    path: str
    ask: bool = False

    def oracle(self) -> frozenset[str]:
        return frozenset({"alphas"}) if self.ask else frozenset()

    def fit(self, train: Data, ctx: Context) -> Predictor:
        where = Path(self.path) / f"{train.n}-{ctx.seed}.npz"
        np.savez(where, x=train.x, y=train.y, square_mean=ctx.square_mean, oracle=str(dict(ctx.oracle)))
        return Constant(0.0)


class Borrower(Mean):
    """Writes the size of each array that it receives, and of the memory behind it, to a file."""

    name: ClassVar[str] = "borrower"
    path: str

    def fit(self, train: Data, ctx: Context) -> Predictor:
        self.note(inputs=train.x, labels=train.y, unlabeled=ctx.unlabeled, square_mean=ctx.square_mean)
        return BorrowerPredictor(self)

    def note(self, **lent: Any) -> None:
        with Path(self.path).open("a") as file:
            file.write("".join(f"{what} {math.prod(x.shape)} {reach(x)}\n" for what, x in lent.items()))


class BorrowerTorch(Borrower):
    """Receives tensors."""

    name: ClassVar[str] = "borrower-torch"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("torch",))


class BorrowerJax(Borrower):
    """Receives arrays of JAX."""

    name: ClassVar[str] = "borrower-jax"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("jax",))


class BorrowerPredictor(Constant):
    def __init__(self, learner: Borrower) -> None:
        super().__init__(0.0)
        self.learner = learner

    def predict(self, x: Any) -> np.ndarray:
        self.learner.note(predicted=x)
        return super().predict(x)


def reach(x: Any) -> int:
    """The number of values in the memory behind an array."""
    if hasattr(x, "untyped_storage"):
        return x.untyped_storage().nbytes() // x.element_size()
    memory = x = np.asarray(x)
    while (base := getattr(memory, "base", None)) is not None:
        memory = base
    return memory.nbytes // x.itemsize


class Huge(Mean):
    """Declares more memory than there is."""

    name: ClassVar[str] = "huge"

    def cost(self, n: int, d: int) -> Cost:
        return Cost(flops=1.0, bytes=n * 1e9)


class Quitter(Mean):
    """Exits while the session plans."""

    name: ClassVar[str] = "quitter"
    where: str

    def _reach(self, place: str) -> None:
        if place == self.where:
            raise SystemExit(0)

    def batch_key(self, train: DataSpec) -> Hashable:
        return self._reach("batch_key")

    def cost(self, n: int, d: int) -> None:
        return self._reach("cost")

    def skip(self, task: object, n: int) -> None:
        return self._reach("skip")

    def caution(self, task: object, n: int) -> None:
        return self._reach("caution")


class Surroundings(Mean):
    """Returns the environment of its process as ``info``."""

    name: ClassVar[str] = "surroundings"

    def fit(self, train: Data, ctx: Context) -> Predictor:
        predictor = super().fit(train, ctx)
        predictor.info = dict(os.environ)
        return predictor


class Telltale(Mean):
    """Tells what a file holds: in what it raises, in ``info`` and in the reason of a stage."""

    name: ClassVar[str] = "telltale"
    path: str
    where: str

    def skip(self, task: object, n: int) -> str | None:
        return Path(self.path).read_text() if self.where == "skip" else None

    def fit(self, train: Data, ctx: Context) -> Predictor:
        text = Path(self.path).read_text()
        if self.where == "fit":
            raise RuntimeError(text)
        predictor = TelltalePredictor(0.0)
        predictor.text, predictor.info = text, {text: [text]}
        return predictor


class TelltalePredictor(Constant):
    text: str

    @property
    def stages(self) -> dict[str, Predictor]:
        return {"first": TelltaleStage(self.text)}


class TelltaleStage(Constant):
    def predict(self, x: np.ndarray) -> np.ndarray:
        raise RuntimeError(self.value)


class Inscribing(Mean):
    """Writes into the ``info`` that all predictors without one of their own have."""

    name: ClassVar[str] = "inscribing"

    def fit(self, train: Data, ctx: Context) -> Predictor:
        predictor = super().fit(train, ctx)
        predictor.info["written_by"] = self.name  # type: ignore[index]
        return predictor


class Gradual(Mean):
    """Says in a file that its fit has begun, then takes its time in short steps."""

    name: ClassVar[str] = "gradual"
    path: str
    seconds: float

    def fit(self, train: Data, ctx: Context) -> Predictor:
        Path(self.path).write_text("began")
        for _ in range(round(20 * self.seconds)):
            time.sleep(0.05)
        return super().fit(train, ctx)


class Prying(Mean):
    """Reads the environment of the process that a file names, and says whether a text is in it."""

    name: ClassVar[str] = "prying"
    path: str
    text: str

    def fit(self, train: Data, ctx: Context) -> Predictor:
        environment = Path(f"/proc/{Path(self.path).read_text()}/environ").read_bytes()
        raise ValueError(f"it is {self.text[::-1].encode() in environment}")


class Vandal(Mean):
    """Writes into its arguments, even if they are read-only."""

    name: ClassVar[str] = "vandal"
    what: str
    together: bool = False
    at: int = 20

    def batch_key(self, train: DataSpec) -> Hashable:
        return "all" if self.together else None

    def fit(self, train: Data, ctx: Context) -> Predictor:
        spared = Constant(float(train.y.mean()))
        if train.n != self.at:
            return spared
        if self.what in ("x", "y"):
            wreck(getattr(train, self.what))
        if self.what == "square_mean":
            wreck(ctx.square_mean)
        return VandalPredictor(self.what) if self.what.startswith("test") else spared


class VandalPredictor(Constant):
    def __init__(self, what: str) -> None:
        super().__init__(0.0)
        self.what = what

    def predict(self, x: np.ndarray) -> np.ndarray:
        if self.what == "test":
            wreck(x)
        return super().predict(x)

    def hidden(self, x: np.ndarray) -> dict[str, np.ndarray]:
        if self.what == "test-in-hidden":
            wreck(x)
        return {}


def wreck(x: Any) -> None:
    """Set an array to zero through the memory that arrays of torch and JAX share with NumPy."""
    seen = np.asarray(x)
    ctypes.memset(seen.ctypes.data, 0, seen.nbytes)


class VandalTorch(Vandal):
    """Writes into tensors."""

    name: ClassVar[str] = "vandal-torch"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("torch",))


class VandalJax(Vandal):
    """Writes into arrays of JAX."""

    name: ClassVar[str] = "vandal-jax"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("jax",))


class Forgetful(Mean):
    """Writes every prediction into the same memory."""

    name: ClassVar[str] = "forgetful"

    def fit(self, train: Data, ctx: Context) -> Predictor:
        return ForgetfulPredictor(float(train.y.mean()))


class ForgetfulPredictor(Constant):
    memory = np.zeros(1000)

    def predict(self, x: np.ndarray) -> np.ndarray:
        answer = self.memory[: len(x)]
        answer[:] = self.value if len(x) > 100 else 1e6
        return answer


class OnTensors(Mean):
    """Needs a library that takes seconds to import."""

    name: ClassVar[str] = "on-tensors"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("torch",))


class Importing(Mean):
    """Imports a library in fit that it declares."""

    name: ClassVar[str] = "importing"
    capabilities: ClassVar[Capabilities] = Capabilities(libraries=frozenset({"jax"}))

    def fit(self, train: Data, ctx: Context) -> Predictor:
        loaded = "jax" in sys.modules
        from bfc_bench.toolkit.ensemble import jnp

        predictor = super().fit(train, ctx)
        predictor.info = {"loaded": loaded, "by": jnp.__name__}
        return predictor


class Unshown:
    """Has neither a hash nor a representation."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise RuntimeError("not shown")


ANSWERS: dict[str, Callable[[], Any]] = {
    "exit": lambda: sys.exit(0),
    "raise": lambda: {}["flops"],
    "list": lambda: [[]],
    "text": lambda: "cheap",
    "number": lambda: 5,
    "nan": lambda: Cost(flops=math.nan, bytes=0.0),
    "none at all": lambda: Cost(flops=0.0, bytes=0.0),
    "unshown": Unshown,
}


class Answering(Mean):
    """Gives a wrong answer while a run is planned, at one size."""

    name: ClassVar[str] = "answering"
    where: str
    what: str
    at: int = 20

    def _answer(self, place: str, n: int) -> Any:
        return ANSWERS[self.what]() if (place, n) == (self.where, self.at) else None

    def batch_key(self, train: DataSpec) -> Hashable:
        return self._answer("batch_key", train.n)

    def cost(self, n: int, d: int) -> Cost | None:
        return self._answer("cost", n)

    def skip(self, task: object, n: int) -> str | None:
        return self._answer("skip", n)

    def caution(self, task: object, n: int) -> str | None:
        return self._answer("caution", n)

    def libraries(self) -> frozenset[str]:
        return self._answer("libraries", self.at) if self.where == "libraries" else super().libraries()

    def oracle(self) -> frozenset[str]:
        return self._answer("oracle", self.at) if self.where == "oracle" else super().oracle()


class Deaf(Mean):
    """Starts a process, then waits in C for a minute while it holds Python's lock."""

    name: ClassVar[str] = "deaf"
    path: str

    def fit(self, train: Data, ctx: Context) -> Predictor:
        Path(self.path).write_text(f"{os.getpid()} ")
        ctypes.PyDLL(None).sleep(60)
        return super().fit(train, ctx)


class Mortal(Mean):
    """Kills its process as if from outside, a number of times."""

    name: ClassVar[str] = "mortal"
    path: str
    times: int
    signal: int = 9

    def fit(self, train: Data, ctx: Context) -> Predictor:
        fits = Path(self.path) / f"{train.n}"
        before = len(fits.read_text()) if fits.exists() else 0
        fits.write_text("." * (before + 1))
        if train.n == 20 and before < self.times:
            os.kill(os.getpid(), self.signal)
        return super().fit(train, ctx)


class Deadly(Mean):
    """Kills its session at one size, a number of times, as when a machine dies."""

    name: ClassVar[str] = "deadly"
    path: str
    times: int
    at: int = 20

    def fit(self, train: Data, ctx: Context) -> Predictor:
        if train.n == self.at and in_worker():
            deaths = Path(self.path)
            before = len(deaths.read_text()) if deaths.exists() else 0
            if before < self.times:
                deaths.write_text("." * (before + 1))
                os.kill(session(), signal.SIGKILL)
                time.sleep(60)
        return super().fit(train, ctx)


class Greedy(Mean):
    """Takes 0.6 GB, or seems to, or leaks memory in every fit."""

    name: ClassVar[str] = "greedy"
    how: str
    at: int = 20

    def fit(self, train: Data, ctx: Context) -> Predictor:
        if self.at in (0, train.n):
            getattr(self, f"_{self.how}")()
        predictor = super().fit(train, ctx)
        predictor.info = {"process": os.getpid()}
        return predictor

    def _numpy(self) -> None:
        np.ones(75_000_000)

    def _lists(self) -> None:
        held = []
        while sys.getsizeof(held) < 5e9:
            held.append([0.0] * 1000)

    def _thread(self) -> None:
        failed: list[BaseException] = []

        def take() -> None:
            try:
                np.ones(75_000_000)
            except MemoryError as error:
                failed.append(error)

        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        raise failed[0]

    def _shared(self) -> None:
        """No limit of a process counts this memory."""
        with mmap.mmap(-1, 600_000_000) as memory:
            for start in range(0, len(memory), mmap.PAGESIZE):
                memory[start] = 1
            time.sleep(60)

    def _child(self) -> None:
        code = "import time; held = b'1' * 300_000_000; time.sleep(60)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def _file(self) -> None:
        """Maps a file of that size, whose pages the system may drop at any time."""
        with tempfile.TemporaryFile() as file:
            file.truncate(600_000_000)
            with mmap.mmap(file.fileno(), 0) as mapped:
                assert not np.frombuffer(mapped, np.uint8).any()
            time.sleep(0.3)

    def _untouched(self) -> None:
        """Reserves addresses without using memory."""
        with mmap.mmap(-1, 6_000_000_000, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ):
            time.sleep(0.3)

    def _fork(self) -> None:
        """Starts children that share 0.06 to 0.12 GB and write to none of it."""
        code = "import os, time; held = b'1' * 60_000_000; os.fork(); os.fork(); time.sleep(0.5)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def _leak(self) -> None:
        LEAKED.append(np.ones(2_500_000))


class GreedyTorch(Greedy):
    """Takes memory through torch."""

    name: ClassVar[str] = "greedy-torch"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("torch",))

    def _torch(self) -> None:
        import torch

        [torch.ones(5_000_000, dtype=torch.float64) for _ in range(15)]


class GreedyJax(Greedy):
    """Takes memory through JAX, which it imports when it is used."""

    name: ClassVar[str] = "greedy-jax"

    def _jax(self) -> None:
        import jax.numpy as jnp

        [jnp.ones(5_000_000).block_until_ready() for _ in range(30)]

    def _compiled(self) -> None:
        import jax
        import jax.numpy as jnp

        jax.jit(lambda x: (jnp.outer(x, x) @ jnp.outer(x, jnp.sin(x))).sum())(jnp.ones(8000)).block_until_ready()


class GreedyInputs(Uniform):
    """Takes memory while points are drawn."""

    kind: ClassVar[str] = "greedy"

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> np.ndarray:
        if in_worker():
            np.ones(75_000_000)
        return super().sample(rng, m, law)


LEAKED: list[np.ndarray] = []


BORROWERS = (Borrower, BorrowerTorch, BorrowerJax)
GREEDY = (Greedy, GreedyTorch, GreedyJax)
VANDALS = (Vandal, VandalTorch, VandalJax)
HOSTILE = (
    Raising,
    Talkative,
    Quitter,
    Forgetful,
    OnTensors,
    Importing,
    Answering,
    Deaf,
    Mortal,
    Deadly,
)


@hookimpl
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    harmless = (
        Mean,
        Slow,
        Artist,
        Faulty,
        Together,
        Ridge,
        Spy,
        Huge,
        Surroundings,
        Telltale,
        Gradual,
        Inscribing,
        Prying,
    )
    for learner in (*harmless, *BORROWERS, *VANDALS, *HOSTILE, *GREEDY):
        register(learner)


@hookimpl
def bfc_register_inputs(register: Callable[[type[Inputs]], None]) -> None:
    register(GreedyInputs)
