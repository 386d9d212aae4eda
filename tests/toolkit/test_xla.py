"""XLA compiles for one instruction set on every CPU, and what it compiles wrongly ends a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.toolkit import canary, xla
from bfc_bench.toolkit.libraries import missing

LIBRARIES = {"jax", "neural-tangents"}
UNKNOWN = "--xla_no_such_flag=1"
"""XLA ends a process that has it among its flags."""


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """No answer of a canary is known in this process or on the disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    canary._reason.cache_clear()
    yield tmp_path / "cache" / "bfc-bench" / "canary"
    canary._reason.cache_clear()


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts a shell script in the place of Python, which notes each of its starts; returns how often it has."""

    def use(script: str):
        starts, program = tmp_path / "starts", tmp_path / "python"
        program.write_text(f"#!/bin/sh\necho >> {starts}\n{script}\n")
        program.chmod(0o700)
        monkeypatch.setattr(canary.sys, "executable", str(program))
        return lambda: starts.read_text().count("\n") if starts.exists() else 0

    return use


@pytest.mark.parametrize(
    ("machine", "given", "chosen"),
    [
        ("x86_64", "", "--xla_cpu_max_isa=AVX2"),
        ("x86_64", "--xla_dump_to=/x", "--xla_dump_to=/x --xla_cpu_max_isa=AVX2"),
        ("x86_64", "--xla_cpu_max_isa=AVX512", "--xla_cpu_max_isa=AVX512"),
        ("aarch64", "", ""),
    ],
)
def test_the_instruction_set_is_chosen_unless_the_user_has(monkeypatch, machine, given, chosen):
    monkeypatch.setattr(xla.platform, "machine", lambda: machine)
    assert xla.with_instructions(given) == chosen


def python(code: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"} | variables
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_jax_is_started_with_it_and_the_environment_is_left_alone():
    code = """
import os
from bfc_bench.toolkit import xla
from bfc_bench.toolkit.precision import prepare_jax
print(xla.flags_to_come()); prepare_jax("cpu"); print(xla.flags_to_come(), os.environ.get("XLA_FLAGS"))
"""
    flag = xla.with_instructions("")
    assert python(code).splitlines() == [flag, f"{flag} None"]
    given = "--xla_cpu_max_isa=SSE4_2"
    assert python(code, XLA_FLAGS=given).splitlines() == [given, f"{given} {given}"]


def test_where_jax_was_used_before_the_canary_is_asked_about_all_instructions():
    code = """
import jax; jax.devices()
from bfc_bench.toolkit import xla
print(xla.flags_to_come())
"""
    assert python(code) == "--xla_cpu_max_isa=AMX_FP16"


@pytest.mark.parametrize("library", canary.PROGRAMS)
def test_what_is_compiled_here_is_right(library):
    if problem := missing({library}):
        pytest.skip(problem)
    if f"{xla.INSTRUCTIONS}={xla.BEST}" in xla.flags_to_come():
        pytest.skip("what XLA makes of wider instructions is the canary's to find")
    assert canary.miscompiled({library}) is None
    program, tolerance, _ = canary.PROGRAMS[library]
    assert program() <= tolerance


def test_a_program_that_computes_something_else_is_found(monkeypatch, capsys):
    monkeypatch.setattr(canary, "PROGRAMS", {"jax": (lambda: 0.3, 1e-4, "the training of networks")})
    canary.main("jax")
    assert capsys.readouterr().out == "errs by 0.3 of its result, where rounding explains 0.0001\n"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("kill -SEGV $$", "ends its process by SIGSEGV"),
        ("kill -ILL $$", "ends its process by SIGILL"),
        ("echo errs by 1 of its result", "errs by 1 of its result"),
    ],
)
def test_a_wrong_program_is_one_line_and_asked_about_once(fresh, stand_in, script, problem):
    starts = stand_in(script)
    reason = canary.miscompiled(LIBRARIES - {"jax"})
    assert f"compiles convolutions in float64 wrongly for this CPU: a test program {problem}. Take another" in reason
    assert "\n" not in reason
    canary._reason.cache_clear()  # as another process
    assert canary.miscompiled(LIBRARIES - {"jax"}) == reason
    assert starts() == 1
    assert canary.miscompiled({"torch", "numpy"}) is None


def test_other_flags_are_another_question(fresh, stand_in, monkeypatch):
    starts = stand_in("exit 0")
    for flags in ("--xla_cpu_max_isa=AVX2", "--xla_cpu_max_isa=SSE4_2", "--xla_cpu_max_isa=AVX2"):
        monkeypatch.setattr(canary, "flags_to_come", lambda flags=flags: flags)
        assert canary.miscompiled({"jax"}) is None
    assert starts() == 2


def test_what_may_be_the_machines_doing_is_asked_again(fresh, stand_in, monkeypatch):
    starts = stand_in("echo no room >&2; exit 1")
    for _ in range(2):
        assert canary.miscompiled({"jax"}).endswith(
            "cannot be tried on the training of networks: a test program ended with 1 (no room)"
        )
        canary._reason.cache_clear()
    assert starts() == 2
    stand_in("kill -KILL $$")
    assert "ended with -9" in canary.miscompiled({"jax"})
    canary._reason.cache_clear()
    stand_in("sleep 60")
    monkeypatch.setattr(canary, "SECONDS", 0.2)
    assert "did not end in 0.2 s" in canary.miscompiled({"jax"})


def test_without_a_cache_it_is_asked_all_the_same(fresh, stand_in, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    starts = stand_in("exit 0")
    assert canary.miscompiled({"jax"}) is None
    assert starts() == 1


def test_learners_of_a_compiler_that_fails_are_skipped_and_the_run_goes_on(fresh, suite_file, tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", UNKNOWN)
    learners = [{"name": "quad-densenet", "options": {"steps": 10}}, {"name": "sklearn:linear_model.Ridge"}]
    path = suite_file(learner=learners)
    session = run_suite(path, RunOptions(store=tmp_path / "store", jobs=1, device="cpu"))
    assert session.exit_code == 0
    rows = read_results(path, store=tmp_path / "store")
    assert {(row.learner, row.status) for row in rows} == {
        ("quad-densenet", "skipped"),
        ("sklearn:linear_model.Ridge", "ok"),
    }
    (reason,) = {row.reason for row in rows if row.status == "skipped"}
    assert reason.startswith("quad-densenet: XLA of jaxlib")
    assert "Unknown flag in XLA_FLAGS: --xla_no_such_flag=1" in reason


def test_check_and_estimators_say_so_in_one_line(fresh, bench, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", UNKNOWN)
    ran = bench("check", "quad-densenet")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "check: learner 'quad-densenet' cannot be tried here: XLA of jaxlib" in ran.stderr
    found = bench("doctor")
    assert found.returncode == 1
    assert "compiled code for the training of networks: XLA of jaxlib" in found.stdout
    code = """
import bfc_bench as bb, numpy as np
try: bb.as_sklearn("quad-densenet", steps=5).fit(np.ones((20, 3)), np.arange(20.0))
except bb.UsageError as error: print(error)
"""
    assert python(code, XLA_FLAGS=UNKNOWN).startswith("quad-densenet cannot be fitted here: XLA of jaxlib")


def has_wide_vectors() -> bool:
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and " avx512f" in cpu.read_text()


@pytest.mark.skipif(not has_wide_vectors(), reason="the CPU has no AVX-512")
def test_the_fault_of_wide_vectors_is_still_there():
    """When this fails, XLA is mended for such CPUs: the canary then decides, and the default may go."""
    if problem := missing({"neural-tangents"}):
        pytest.skip(problem)
    assert "SIGSEGV" in canary._run("neural-tangents", f"{xla.INSTRUCTIONS}={xla.BEST}")[0]
