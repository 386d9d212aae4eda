"""Runs a real SLURM cluster of one node on this machine, in a temporary folder and on the loopback address only.

It needs Debian's slurm-wlm and munge. munged, slurmctld and slurmd run as the current user. With accounting, SLURM
enforces accounts and QOS, and Debian's slurmdbd and mariadb-server are needed too. Without accounting:

    python -m benchmarks.faults.cluster COMMAND...    runs a command with the cluster in its environment, then stops it
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
CONFIG = """\
ClusterName=bfc
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters={resources}
{accounting}
{memory_limits}
JobCompType=jobcomp/none
JobRequeue=1
ReturnToService=2
KillWait=5
MinJobAge=10
InactiveLimit=0
MaxArraySize=11
SlurmctldTimeout=30
SlurmdTimeout=30
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""

LENIENT = {"resources": "CR_Core", "memory_limits": "JobAcctGatherType=jobacct_gather/none"}
STRICT = {
    "resources": "CR_Core_Memory",
    "memory_limits": """\
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill""",
}
NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none"
ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations,limits,qos"""
DATABASE = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql_port}
StorageUser=slurm
StoragePass={password}
StorageLoc=slurm_acct_db
"""


def missing(*, accounting: bool = False) -> str:
    """What this machine lacks, or an empty text."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    needed = (*NEEDED, *(("slurmdbd", "mariadbd", "mariadb-install-db", "sacctmgr") if accounting else ()))
    lacking = [name for name in needed if shutil.which(name, path=path) is None]
    packages = "slurm-wlm, munge, slurmdbd and mariadb-server" if accounting else "slurm-wlm and munge"
    return f"Debian's {packages} are not installed: no {', '.join(lacking)}" if lacking else ""


@contextmanager
def cluster(*, accounting: bool = False) -> Iterator[dict[str, str]]:
    """Start the cluster and yield the environment for SLURM's commands; it is always stopped afterwards.

    Args:
        accounting: Whether SLURM enforces accounts and QOS, with a database, and --mem.
            The current user has the account ``lab``.
    """
    host = platform.node().split(".")[0]
    with TemporaryDirectory(prefix="bfc-slurm-", ignore_cleanup_errors=True) as name, ExitStack() as started:
        folder = Path(name)
        for inner in ("state", "spool"):
            (folder / inner).mkdir(mode=0o755)
        memory = int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) // 1024
        config = folder / "slurm.conf"
        *ports, port, sql_port = _free_ports(4)
        enforced = ACCOUNTING.format(port=port, folder=folder) if accounting else NO_ACCOUNTING
        facts = {"host": host, "folder": folder, "user": _user(), "cores": os.cpu_count(), "memory": memory}
        config.write_text(
            CONFIG.format(**facts, **(STRICT if accounting else LENIENT), ports=ports, accounting=enforced)
        )
        path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
        environment = {**os.environ, "SLURM_CONF": str(config), "PATH": path}
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        munge = [
            *("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", f"--key-file={folder}/munge.key"),
            *(f"--log-file={folder}/munged.log", f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munge.seed"),
        ]
        _daemon(started, munge, folder, environment)
        _wait((folder / "munge.socket").exists, folder, "munged")
        if accounting:
            _database(started, folder, environment, host, port, sql_port)
        _daemon(started, ["slurmctld", "-D", "-i"], folder, environment)
        _daemon(started, ["slurmd", "-D", "-N", host], folder, environment)
        _wait(lambda: "idle" in _said(["sinfo", "-h", "-o", "%T"], environment), folder, "slurmctld and slurmd")
        started.callback(_cancel_all, environment)
        yield environment


def _database(
    started: ExitStack, folder: Path, environment: dict[str, str], host: str, port: int, sql_port: int
) -> None:
    """Start MariaDB and slurmdbd, and add the cluster, the account ``lab`` and the current user."""
    data, password = folder / "mariadb", secrets.token_hex(16)
    first = folder / "first.sql"
    first.touch(mode=0o600)
    first.write_text(
        f"CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';\n"
        "CREATE DATABASE slurm_acct_db;\nGRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';\n"
    )
    make = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={_user()}", "--skip-test-db"]
    subprocess.run(make, env=environment, check=True, capture_output=True)
    server = [
        *("mariadbd", "--no-defaults", f"--datadir={data}", f"--user={_user()}", f"--socket={folder}/sql.socket"),
        *("--bind-address=127.0.0.1", f"--port={sql_port}", f"--pid-file={folder}/mariadbd.pid", "--skip-name-resolve"),
        *(f"--init-file={first}", "--innodb-buffer-pool-size=64M"),
    ]
    _daemon(started, server, folder, environment)
    _wait(lambda: _answers(sql_port), folder, "mariadbd")
    config = folder / "slurmdbd.conf"
    config.touch(mode=0o600)
    facts = {"host": host, "folder": folder, "user": _user(), "port": port, "sql_port": sql_port, "password": password}
    config.write_text(DATABASE.format(**facts))
    _daemon(started, ["slurmdbd", "-D"], folder, environment)
    _wait(lambda: _answers(port), folder, "slurmdbd")
    for words in ("cluster bfc", "account lab Description=lab Organization=lab", f"user {_user()} Account=lab"):
        command = ["sacctmgr", "-i", "add", *words.split()]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(command)}: {done.stdout}{done.stderr}\n{(folder / 'slurmdbd.log').read_text()}"
            )


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _daemon(started: ExitStack, command: list[str], folder: Path, environment: dict[str, str]) -> None:
    with (folder / f"{command[0]}.out").open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=folder
        )
    started.callback(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _cancel_all(environment: dict[str, str]) -> None:
    """Cancel all jobs before the daemons stop, because slurmstepd processes outlive slurmd."""
    subprocess.run(["scancel", "--state=PENDING", "--full", f"--user={_user()}"], env=environment, check=False)
    subprocess.run(["scancel", "--full", f"--user={_user()}"], env=environment, check=False)
    deadline = time.monotonic() + 30
    while _said(["squeue", "-h"], environment).strip() and time.monotonic() < deadline:
        time.sleep(0.5)


def _said(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout


def _wait(condition: Callable[[], bool], folder: Path, what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            logs = "\n".join(
                f"{p.name}:\n{p.read_text()[-2000:]}" for p in [*folder.glob("*.out"), *folder.glob("*.log")]
            )
            raise RuntimeError(f"{what} did not start within 60 s.\n{logs}")
        time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as opened:  # all sockets stay open together, so that their ports differ
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


if __name__ == "__main__":
    if problem := missing():
        raise SystemExit(problem)
    with cluster() as environment:
        raise SystemExit(subprocess.run(sys.argv[1:], env=environment, check=False).returncode)
