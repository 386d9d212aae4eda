"""Uses SLURM through ``sbatch`` and ``squeue``."""

import shlex
import subprocess
import sys
from collections.abc import Sequence

from bfc_bench.errors import BenchError
from bfc_bench.extras.slurm.job import ShardJob

SIGNAL_SECONDS = 60
"""Seconds before its time limit at which a shard is told to stop."""
ENDED = frozenset(
    ("CANCELLED", "COMPLETED", "FAILED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED")
)
"""States of tasks that SLURM still shows for some minutes after their end."""


def script(job: ShardJob, options: Sequence[str]) -> str:
    """The batch script of a job, whose tasks are its shards.

    ``exec`` replaces the shell by the shard, so that ``--signal=B:`` reaches the shard.
    """
    lines = [
        f"--job-name={shlex.quote('bfc-' + job.suite['name'])}",
        f"--array=0-{len(job.cells) - 1}",
        f"--signal=B:USR1@{SIGNAL_SECONDS}",
        "--requeue",
        "--open-mode=append",
        f"--output={shlex.quote(str(job.folder / 'shard-%a.log'))}",
        f"--cpus-per-task={job.workers}",
        *options,
    ]
    directives = "\n".join(f"#SBATCH {line}" for line in lines)
    call = shlex.join([sys.executable, "-m", __package__ or "", str(job.folder)])
    return f'#!/bin/bash\n{directives}\nexec {call} "$SLURM_ARRAY_TASK_ID"\n'


def send(text: str) -> str:
    """Submit a batch script and return the id of its array. Raises ``BenchError`` with SLURM's reason."""
    return _call("sbatch", "--parsable", text=text).strip().split(";")[0]


def states(job: ShardJob) -> list[str]:
    """The state of each shard: a word of SLURM, with a reason if it waits; ``running`` on this machine; ``ended``."""
    found = ["running" if job.runs_here(number) else "ended" for number in range(len(job.cells))]
    command = ("squeue", "-h", "-r", "-t", "all", "-o", "%K %T (%r)", "-j", job.array)
    for line in _call(*command, tolerated="Invalid job id").splitlines() if job.array else ():
        number, _, state = line.partition(" ")
        if number.isdigit() and state.partition(" ")[0] not in ENDED:
            found[int(number)] = state.removesuffix(" (None)")
    return found


def _call(*command: str, text: str = "", tolerated: str = "") -> str:
    """The output of a command. Raises ``BenchError`` if it fails, unless its error contains ``tolerated``."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is not installed. `submit --local` runs the shards on this machine.") from None
    except subprocess.TimeoutExpired:
        raise BenchError(f"{command[0]} did not answer within 60 s.") from None
    if done.returncode and not (tolerated and tolerated in done.stderr):
        raise BenchError(" ".join(done.stderr.split()) or f"{command[0]} failed with exit code {done.returncode}.")
    return done.stdout
