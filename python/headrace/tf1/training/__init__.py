"""Training infrastructure: sessions that manage their input threads, hooks and supervisors.

This package does not compute gradients: the program itself assigns new values to its variables.
"""

from headrace.tf1.training.cluster import ClusterSpec, Server
from headrace.tf1.training.hooks.checkpoint import CheckpointSaverHook, CheckpointSaverListener
from headrace.tf1.training.hooks.feed import FeedFnHook
from headrace.tf1.training.hooks.profiler import ProfilerHook
from headrace.tf1.training.hooks.reporting import (
    FinalOpsHook,
    LoggingTensorHook,
    StepCounterHook,
    SummarySaverHook,
)
from headrace.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.tf1.training.hooks.stopping import (
    GlobalStepWaiterHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    StopAtStepHook,
)
from headrace.tf1.training.monitored_session import (
    MonitoredSession,
    MonitoredTrainingSession,
    SingularMonitoredSession,
)
from headrace.tf1.training.placement import replica_device_setter
from headrace.tf1.training.scaffold import Scaffold
from headrace.tf1.training.session_creator import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)
from headrace.tf1.training.session_manager import SessionManager
from headrace.tf1.training.step_timer import SecondOrStepTimer
from headrace.tf1.training.supervisor import Supervisor, basic_train_loop

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
