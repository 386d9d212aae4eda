__all__: list[str]

from .analysis.claims import Claim as Claim
from .analysis.claims import PointClaim as PointClaim
from .analysis.claims import Verdict as Verdict
from .api import (
    RunOptions as RunOptions,
)
from .api import (
    as_sklearn as as_sklearn,
)
from .api import (
    load_learner as load_learner,
)
from .api import (
    run_suite as run_suite,
)
from .api import (
    run_until_decided as run_until_decided,
)
from .errors import (
    BenchError as BenchError,
)
from .errors import (
    Diverged as Diverged,
)
from .errors import (
    OutputError as OutputError,
)
from .errors import (
    PluginError as PluginError,
)
from .errors import (
    StoreError as StoreError,
)
from .errors import (
    TrackingError as TrackingError,
)
from .errors import (
    UnknownSuite as UnknownSuite,
)
from .errors import (
    UsageError as UsageError,
)
from .executors.base import Executor as Executor
from .executors.base import Pool as Pool
from .executors.base import Resources as Resources
from .executors.base import UnitFailure as UnitFailure
from .learner import (
    BatchLearner as BatchLearner,
)
from .learner import (
    Capabilities as Capabilities,
)
from .learner import (
    Context as Context,
)
from .learner import (
    Cost as Cost,
)
from .learner import (
    Data as Data,
)
from .learner import (
    DataSpec as DataSpec,
)
from .learner import (
    Failure as Failure,
)
from .learner import (
    Job as Job,
)
from .learner import (
    Learner as Learner,
)
from .learner import (
    Predictor as Predictor,
)
from .learner import (
    TaskFacts as TaskFacts,
)
from .learner import (
    Theory as Theory,
)
from .plugins import Plugins as Plugins
from .plugins import load_plugins as load_plugins
from .run.session import Session as Session
from .store.export import Records as Records
from .store.row import Row as Row
from .stored_suite import OpenStore as OpenStore
from .stored_suite import StoredSuite as StoredSuite
from .stored_suite import open_store as open_store
from .stored_suite.results import Curves as Curves
from .suite.model import LearnerEntry as LearnerEntry
from .suite.model import Suite as Suite
from .suite.model import TaskEntry as TaskEntry
from .tasks.base import (
    DataSet as DataSet,
)
from .tasks.base import (
    DataSetContents as DataSetContents,
)
from .tasks.base import (
    InputLaw as InputLaw,
)
from .tasks.base import (
    Inputs as Inputs,
)
from .tasks.base import (
    LabelledPoints as LabelledPoints,
)
from .tasks.base import (
    Labelling as Labelling,
)
from .tasks.base import (
    Labels as Labels,
)
from .tasks.base import (
    Target as Target,
)
from .tasks.base import (
    Teacher as Teacher,
)
from .tasks.metrics import Metric as Metric
from .tasks.metrics import TargetValues as TargetValues
from .until_decided import Decided as Decided
from .utils.hook_markers import hookimpl as hookimpl
