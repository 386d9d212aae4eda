"""Uses SLURM through ``sbatch``, ``squeue`` and ``scontrol``. Accounting (``sacct``) is not needed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bfc_bench.errors import BenchError
from bfc_bench.shards.job import ShardJob, SlurmArray

LARGEST_ARRAY = 1001
"""SLURM's default of ``MaxArraySize``, if SLURM does not report it."""
SIGNAL_SECONDS = 90
"""Seconds before its time limit at which a shard is told to stop."""
WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})
ENDED = frozenset(
    ("CANCELLED", "COMPLETED", "FAILED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED")
)
"""States of tasks that SLURM still shows for some minutes after their end (``MinJobAge``)."""


REFUSALS = {
    "Invalid account": "Give another --account: `sacctmgr show associations user=$USER` lists yours.",
    "Invalid qos": "Give another --sbatch --qos=NAME: `sacctmgr show associations user=$USER` lists yours.",
    "accounting/QOS policy": "Use fewer --shards or a shorter --time, or wait until other jobs of yours have ended.",
    "invalid partition": "Give another --partition: `sinfo` lists them.",
}
"""What to do if SLURM refuses a job, by words of its error."""


class SlurmError(BenchError):
    """A command of SLURM is missing, fails or does not answer."""


def script(job: ShardJob, options: Sequence[str]) -> str:
    """The batch script of a job. Its argument is the number of the array's first shard.

    ``exec`` replaces the shell by the shard, so that ``--signal=B:`` reaches the shard.
    """
    lines = [
        f"--job-name={shlex.quote('bfc-' + job.suite['name'])}",
        f"--signal=B:USR1@{SIGNAL_SECONDS}",
        "--requeue",
        "--open-mode=append",
        f"--output={shlex.quote(str(job.folder / 'logs' / '%A-%a.txt'))}",
        *options,
    ]
    directives = "\n".join(f"#SBATCH {line}" for line in lines)
    call = shlex.join([sys.executable, "-m", "bfc_bench", "shard", str(job.folder)])
    return f'#!/bin/bash\n{directives}\nexec {call} "$(($1 + SLURM_ARRAY_TASK_ID))"\n'


def submit(job: ShardJob, path: Path) -> list[SlurmArray]:
    """Submit the script at ``path`` as an array, or as several if the job is larger than SLURM allows.

    Each array is stored as soon as SLURM has accepted it. Raises ``SlurmError``, which says what to do if SLURM refuses
    an account, a QOS or the number of jobs.
    """
    arrays: list[SlurmArray] = []
    for first, count in split(job.shards, largest_array()):
        output = _call("sbatch", "--parsable", f"--array=0-{count - 1}", str(path), str(first))
        arrays.append(SlurmArray(output.strip().split(";")[0], first, count))
        job.note_arrays(arrays)
    return arrays


def split(shards: int, largest: int) -> list[tuple[int, int]]:
    """First shard and number of shards of each array, as equal as possible."""
    arrays = -(-shards // largest)
    bounds = [shards * i // arrays for i in range(arrays + 1)]
    return [(a, b - a) for a, b in pairwise(bounds)]


def largest_array() -> int:
    """The most tasks of an array."""
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", _call("scontrol", "show", "config"), flags=re.MULTILINE)
    return max(1, int(match[1]) if match else LARGEST_ARRAY)


@dataclass(frozen=True)
class SlurmTask:
    """What SLURM says of a shard."""

    state: str
    reason: str = ""
    """Why it waits, or why it ended."""

    @property
    def waits(self) -> bool:
        """Whether it has not started, or not again."""
        return self.state in WAITING

    @property
    def ended(self) -> bool:
        """Whether it will not start again."""
        return self.state in ENDED


def tasks(jobs: Sequence[ShardJob]) -> dict[tuple[str, int], SlurmTask]:
    """What SLURM says of the shards that it knows, by job's name and number. Raises ``SlurmError``."""
    arrays = {array.id: (job.name, array) for job in jobs for array in job.arrays}
    shards: dict[tuple[str, int], SlurmTask] = {}
    if not arrays:
        return shards
    # squeue fails if all arrays that it is asked for are too old for SLURM to know.
    command = ("squeue", "-h", "-r", "-t", "all", "-o", "%F %K %T %r", "-j", ",".join(arrays))
    for line in _call(*command, tolerated="Invalid job id").splitlines():
        id, task, state, reason = (*line.split(maxsplit=3), "", "", "", "")[:4]
        if id in arrays and task.isdigit() and state:
            name, array = arrays[id]
            shards[name, array.first + int(task)] = SlurmTask(state, reason)
    return shards


def seconds(time: str) -> float | None:
    """Seconds of a time limit in SLURM's format (M, M:S, H:M:S, D-H, D-H:M, D-H:M:S); None if it is invalid."""
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", time):
        return None
    days, _, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if days:
        hours, minutes, secs = (*parts, 0, 0)[:3]
        return 86400.0 * int(days) + 3600 * hours + 60 * minutes + secs
    hours, minutes, secs = {1: (0, *parts, 0), 2: (0, *parts), 3: tuple(parts)}[len(parts)]
    return 3600.0 * hours + 60 * minutes + secs


def _call(*command: str, tolerated: str = "") -> str:
    """The output of a command. Raises ``SlurmError`` if it fails, unless its error contains ``tolerated``."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        raise SlurmError(f"{command[0]} is not installed. `submit --local` runs the shards on this machine.") from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{command[0]} did not answer within 60 s.") from None
    if done.returncode and not (tolerated and tolerated in done.stderr):
        raise SlurmError(f"{command[0]}: {_in_one_line(done.stderr) or f'exit code {done.returncode}'}")
    return done.stdout


def _in_one_line(error: str) -> str:
    """What a command of SLURM says on its lines, without the command's name, and what to do about it."""
    lines = [re.sub(r"^\w+: error: ", "", line.strip()).rstrip(".") for line in error.splitlines() if line.strip()]
    text = ". ".join(lines)
    hint = next((hint for words, hint in REFUSALS.items() if words in text), "")
    return f"{text}. {hint}" if hint else text
