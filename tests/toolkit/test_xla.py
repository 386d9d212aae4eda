"""XLA compiles for one instruction set on every CPU, and ``doctor`` says if it does so wrongly."""

import os
import subprocess
import sys

import pytest

from bfc_bench.toolkit import xla, xla_check
from bfc_bench.toolkit.libraries import missing


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


def python(code: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_jax_is_started_with_it_and_the_environment_is_left_alone():
    code = """
import os, jax
from bfc_bench.toolkit.precision import prepare_jax
seen, devices = [], jax.devices
jax.devices = lambda *args: (seen.append(os.environ.get("XLA_FLAGS")), devices(*args))[1]
prepare_jax("cpu"); print(seen[0], os.environ.get("XLA_FLAGS"))
"""
    assert python(code) == f"{xla.with_instructions('') or None} None"


def test_what_is_compiled_here_is_right():
    if problem := missing({"jax", "neural-tangents"}):
        pytest.skip(problem)
    assert xla_check.compiles_wrongly() is None


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("kill -SEGV $$", "ended with -11 ()"),
        ("echo no room >&2; exit 1", "ended with 1 (no room)"),
        ("echo 0.3", "errs by 0.3 of its result"),
        ("sleep 60", "did not end in 0.2 s"),
    ],
)
def test_a_wrong_program_is_one_line(tmp_path, monkeypatch, script, problem):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setattr(xla_check.sys, "executable", str(program))
    monkeypatch.setattr(xla_check, "SECONDS", 0.2 if "sleep" in script else 60)
    assert xla_check.compiles_wrongly() == f"a test program {problem}"
