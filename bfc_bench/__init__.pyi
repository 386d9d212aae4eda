__all__: list[str]

from .analysis.claims import Claim as Claim, Finding as Finding, PointClaim as PointClaim, Verdict as Verdict
from .errors import (
    BenchError as BenchError,
    Diverged as Diverged,
    OutputError as OutputError,
    PluginError as PluginError,
    StoreError as StoreError,
    TrackingError as TrackingError,
    UnknownSuite as UnknownSuite,
    UsageError as UsageError,
)
from .estimator import as_sklearn as as_sklearn
from .executors.base import Executor as Executor, Pool as Pool, UnitFailure as UnitFailure
from .learner import (
    BatchLearner as BatchLearner,
    Capabilities as Capabilities,
    Column as Column,
    Context as Context,
    Cost as Cost,
    Data as Data,
    DataSpec as DataSpec,
    Failure as Failure,
    Job as Job,
    Learner as Learner,
    Predictor as Predictor,
    TaskFacts as TaskFacts,
    Theory as Theory,
)
from .loaded_task import LoadedTask as LoadedTask, load_task as load_task, task as task
from .plugins.manager import Plugins as Plugins, load_learner as load_learner, load_plugins as load_plugins
from .plugins.register import Register as Register
from .run.options import RunOptions as RunOptions
from .run.session import Session as Session
from .store.export import Records as Records
from .store.row import Row as Row
from .stored_suite import (
    OpenStore as OpenStore,
    StoredSuite as StoredSuite,
    open_store as open_store,
    reference_results as reference_results,
)
from .stored_suite.curves import Curves as Curves
from .strategies.api import run_locating as run_locating, run_suite as run_suite, run_until_decided as run_until_decided
from .strategies.until_decided import Decided as Decided
from .suite.model import LearnerEntry as LearnerEntry, Suite as Suite, TaskEntry as TaskEntry
from .tasks.base import (
    DataSet as DataSet,
    DataSetContents as DataSetContents,
    InputLaw as InputLaw,
    Inputs as Inputs,
    JointLaw as JointLaw,
    LabelledPoints as LabelledPoints,
    Labelling as Labelling,
    Labels as Labels,
    PointSource as PointSource,
    Target as Target,
    Teacher as Teacher,
)
from .tasks.metrics import Metric as Metric, TargetValues as TargetValues
from .utils.hook_markers import hookimpl as hookimpl
from .version import __version__ as __version__
