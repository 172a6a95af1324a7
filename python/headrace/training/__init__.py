"""Training infrastructure: sessions that own the threads of their input, hooks, supervisors.

Nothing here computes a gradient. What is trained is a variable that the program assigns.
"""

from headrace.training.checkpoint_hook import CheckpointSaverHook, CheckpointSaverListener
from headrace.training.cluster import ClusterSpec, Server
from headrace.training.feed_hook import FeedFnHook
from headrace.training.monitored_session import (
    MonitoredSession,
    MonitoredTrainingSession,
    SingularMonitoredSession,
)
from headrace.training.placement import replica_device_setter
from headrace.training.profiler_hook import ProfilerHook
from headrace.training.reporting_hooks import (
    FinalOpsHook,
    LoggingTensorHook,
    StepCounterHook,
    SummarySaverHook,
)
from headrace.training.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.training.scaffold import Scaffold
from headrace.training.session_creator import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)
from headrace.training.session_manager import SessionManager
from headrace.training.step_timer import SecondOrStepTimer
from headrace.training.stopping_hooks import (
    GlobalStepWaiterHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    StopAtStepHook,
)
from headrace.training.supervisor import Supervisor, basic_train_loop

__all__ = [
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "ChiefSessionCreator",
    "ClusterSpec",
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LoggingTensorHook",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "ProfilerHook",
    "Scaffold",
    "SecondOrStepTimer",
    "Server",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "WorkerSessionCreator",
    "basic_train_loop",
    "replica_device_setter",
]
