"""Runs a real SLURM cluster of one node on this machine, in a temporary folder and on the loopback address only.

It needs Debian's slurm-wlm and munge. munged, slurmctld and slurmd run as the current user.
"""

import os
import platform
import pwd
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from waiting import completed

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
USER = pwd.getpwuid(os.getuid()).pw_name
CONFIG = Path(__file__).with_name("slurm.conf")
"""With names in braces for what depends on the machine."""


def missing():
    """What this machine lacks, or an empty text."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    lacking = [name for name in NEEDED if shutil.which(name, path=path) is None]
    return f"Debian's slurm-wlm and munge are not installed: no {', '.join(lacking)}" if lacking else ""


@contextmanager
def cluster():
    """Start the cluster and yield the environment for SLURM's commands; it is always stopped afterwards."""
    host = platform.node().split(".")[0]
    with TemporaryDirectory(prefix="bfc-slurm-", ignore_cleanup_errors=True) as name, ExitStack() as started:
        folder = Path(name)
        for inner in ("state", "spool"):
            (folder / inner).mkdir(mode=0o755)
        memory = int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) // 1024
        config = folder / "slurm.conf"
        facts = {"host": host, "folder": folder, "user": USER, "cores": os.cpu_count(), "memory": memory}
        config.write_text(CONFIG.read_text().format(**facts, ports=_free_ports(2)))
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
        _daemon(started, ["slurmctld", "-D", "-i"], folder, environment)
        _daemon(started, ["slurmd", "-D", "-N", host], folder, environment)
        _wait(lambda: "idle" in _said(["sinfo", "-h", "-o", "%T"], environment), folder, "slurmctld and slurmd")
        started.callback(_cancel_all, environment)
        yield environment


def _daemon(started, command, folder, environment):
    with (folder / f"{command[0]}.out").open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=folder
        )
    started.callback(_end, process)


def _end(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _cancel_all(environment):
    """Cancel all jobs before the daemons stop, because slurmstepd processes outlive slurmd."""
    subprocess.run(["scancel", "--state=PENDING", "--full", f"--user={USER}"], env=environment, check=False)
    subprocess.run(["scancel", "--full", f"--user={USER}"], env=environment, check=False)
    deadline = time.monotonic() + 30
    while _said(["squeue", "-h"], environment).strip() and time.monotonic() < deadline:
        time.sleep(0.5)


def _said(command, environment):
    return completed(command, env=environment, timeout=60).stdout


def _wait(condition, folder, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            logs = "\n".join(
                f"{p.name}:\n{p.read_text()[-2000:]}" for p in [*folder.glob("*.out"), *folder.glob("*.log")]
            )
            raise RuntimeError(f"{what} did not start within 60 s.\n{logs}")
        time.sleep(0.2)


def _free_ports(count):
    with ExitStack() as opened:  # all sockets stay open together, so that their ports differ
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
