"""XLA compiles for one instruction set on every CPU."""

import os
import sys

import pytest
from waiting import completed

from bfc_bench.toolkit import xla


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


def python(code):
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    ran = completed([sys.executable, "-c", code], env=environment)
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
