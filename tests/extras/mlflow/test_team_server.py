"""A team's server as its page has it: PostgreSQL, MLflow with passwords, a run that logs to it."""

import getpass
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from pages import ROOT, blocks

pytestmark = pytest.mark.slow

BINARIES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/lib/postgresql"))
PAGE = [block for block in blocks(ROOT / "docs" / "team-server.md") if block.said.endswith(Path(__file__).name)]
DATABASES, SECRETS, PERMISSIONS, SERVICE, USERS, MEMBER = PAGE
SUPERUSER = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


class Team:
    """What stands on the server's machine: its folder, its PostgreSQL and its MLflow, each under a port of its own."""

    def __init__(self, folder, port):
        self.folder, self.port, self.process = folder, port, None
        self.home, self.postgres = folder / "srv", folder / "pg"
        self.home.mkdir()
        self.postgres.mkdir()
        if SUPERUSER:
            shutil.chown(self.postgres, "postgres")

    def here(self, text):
        """A block of the page with this machine's folders, ports and users in the place of the page's."""
        text = text.replace("/srv/mlflow/venv/bin/mlflow", f"{shlex.quote(sys.executable)} -m mlflow")
        text = text.replace("host=/var/run/postgresql", f"host={self.postgres}")
        text = text.replace("/srv/mlflow", str(self.home)).replace("5000", str(self.port))
        as_postgres = shlex.join(
            [*SUPERUSER, "env", f"PGHOST={self.postgres}", f"PATH={BINARIES}:{os.environ['PATH']}"]
        )
        return text.replace("sudo -u postgres", as_postgres).replace("sudo -u mlflow", "env")

    def do(self, *command):
        done = subprocess.run([*map(str, command)], cwd="/", capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_postgres(self):
        """As Debian has it: who a user of the machine is, the socket says (``peer``). Here one user is two of them."""
        data = self.postgres / "data"
        self.do(*SUPERUSER, BINARIES / "initdb", "-D", data, "--auth-local=peer", "--auth-host=reject")
        users = {(getpass.getuser(), "mlflow"), ("postgres" if SUPERUSER else getpass.getuser(), "postgres")}
        (data / "pg_ident.conf").write_text("".join(f"here {user} {role}\n" for user, role in sorted(users)))
        (data / "pg_hba.conf").write_text("local all all peer map=here\n")
        options = f"-c listen_addresses= -c unix_socket_directories={self.postgres}"
        self.do(*SUPERUSER, BINARIES / "pg_ctl", "-D", data, "-l", self.postgres / "log", "-w", "-o", options, "start")

    def start_mlflow(self):
        said = re.findall(r"^(\w+)=(.*)$", self.here(SERVICE.text), flags=re.MULTILINE)
        secrets = dict(line.split("=", 1) for line in (self.home / "secrets").read_text().splitlines())
        environment = {**os.environ, **secrets, **dict(v.split("=", 1) for k, v in said if k == "Environment")}
        with (self.home / "log").open("wb") as log:
            self.process = subprocess.Popen(
                shlex.split(dict(said)["ExecStart"]), cwd=self.home, env=environment, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        for _ in range(600):
            assert self.process.poll() is None, (self.home / "log").read_text()[-3000:]
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                return
            time.sleep(0.2)
        raise TimeoutError((self.home / "log").read_text()[-3000:])

    def stop(self):
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=20)
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        stop = [*SUPERUSER, BINARIES / "pg_ctl", "-D", self.postgres / "data", "-m", "immediate", "stop"]
        subprocess.run([*map(str, stop)], cwd="/", capture_output=True, check=False)


@pytest.fixture
def team(free_port):
    if not (BINARIES / "initdb").exists():
        pytest.skip(f"no PostgreSQL in {BINARIES}: apt-get install postgresql")
    pytest.importorskip("psycopg", reason="needs psycopg[binary]")
    pytest.importorskip("flask_wtf", reason="needs mlflow[auth]")
    with tempfile.TemporaryDirectory(prefix="bfc-bench-team-", dir="/tmp") as name:  # where postgres may enter
        os.chmod(name, 0o755)
        team = Team(Path(name), free_port)
        try:
            team.start_postgres()
            team.do("bash", "-e", "-c", team.here(DATABASES.text))
            team.do("bash", "-e", "-c", team.here(SECRETS.text))
            (team.home / "basic_auth.ini").write_text(team.here(PERMISSIONS.text))
            team.start_mlflow()
            yield team
        finally:
            team.stop()


def create_user(team, name):
    _, password = team.do(sys.executable, "-W", "ignore", "-c", team.here(USERS.text).replace("ada", name)).split()
    return password


def command_lines():
    """What the list of processes shows of every process of the machine."""
    return {each.pid: " ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])}


def test_a_run_logs_to_the_teams_server_and_leaves_the_password_nowhere(team, faulty, suite_file, tmp_path):
    assert (team.home / "secrets").stat().st_mode & 0o077 == 0
    password = create_user(team, "ada")
    suite = suite_file(learner=[{"name": "mean"}, {"name": "linear-ridge"}], replicates=2)

    def member(said):
        """What somebody does who types ``said`` where the password is asked for; the processes that showed it."""
        text = team.here(MEMBER.text).replace("bfc-bench", f"{shlex.quote(sys.executable)} -m bfc_bench")
        script = tmp_path / "member.sh"
        script.write_text(text.replace(" smoke", f" {shlex.quote(str(suite))}"))
        showing = set()
        with (tmp_path / "out").open("w+") as out, (tmp_path / "err").open("w+") as err:
            process = subprocess.Popen(
                ["bash", "-e", script], cwd=tmp_path, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True
            )
            process.stdin.write(f"{said}\n")
            process.stdin.close()
            while process.poll() is None:
                showing |= {pid for pid, line in command_lines().items() if said in line}
                time.sleep(0.02)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess([], process.returncode, out.read(), err.read()), showing

    wrong = "not-the-password-of-anybody"
    refused, showing = member(wrong)
    assert refused.returncode == 1
    run, sync = [line for line in f"{refused.stdout}\n{refused.stderr}".splitlines() if "MLflow at" in line]
    for line in (run, sync):
        assert "the user name or the password is wrong; set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_" in line
    assert "Traceback" not in refused.stderr
    assert not showing

    done, showing = member(password)
    assert done.returncode == 0, done.stderr
    assert "4 curves: 0 new, 4 unchanged" in done.stdout  # the run has logged what the one before could not
    assert not showing
    question = "SELECT count(*) FROM tags WHERE key = 'bfc.kind' AND value = 'curve'"
    logged = team.do(
        "bash", "-c", team.here(f"sudo -u mlflow psql -h {team.postgres} -U mlflow -Atc {question!r} mlflow")
    )
    assert json.loads(logged) == 4
    assert list((team.home / "artifacts").rglob("report.html"))

    assert list((tmp_path / "bfc-results").rglob("report.html"))
    secret = dict(line.split("=", 1) for line in (team.home / "secrets").read_text().splitlines())
    files = [path for path in (*tmp_path.rglob("*"), *team.folder.rglob("*")) if path.is_file()]
    for word in (password, wrong, *secret.values()):
        holding = [path for path in files if path.exists() and word.encode() in path.read_bytes()]
        assert holding == [team.home / "secrets"] * (word in secret.values())
        assert not [pid for pid, line in command_lines().items() if word in line]
