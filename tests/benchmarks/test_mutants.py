"""Small bugs for the tests: which are made, and that exactly those that a test notices count as found."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks.mutants import MutantTester, mutants, sampled, with_probes  # noqa: E402

SOURCE = '''"""A text with 3 > 2."""
LIMIT: int | None = 10


def above(x: "tuple[int, 3]", *, least: float = 0.5) -> bool:
    if x < 0:
        raise ValueError(f"{x} is below {1 - 1}.")
    for y in range(x):
        if not y:
            continue
        x += 2
    return x > least and "é" != "a" + "b"


def unused():
    return 7
'''
TESTS = """from bfc_bench.part import above

def test_the_limit():
    assert not above(0)
    assert above(1)
    assert above(3)
"""


@pytest.fixture
def checkout(tmp_path):
    for folder in ("bfc_bench", "tests", ".names"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bfc_bench" / "__init__.py").touch()
    (tmp_path / "bfc_bench" / "part.py").write_text(SOURCE)
    (tmp_path / "tests" / "test_part.py").write_text(TESTS)
    (tmp_path / ".names" / "bfc_bench").symlink_to(tmp_path / "bfc_bench")
    return tmp_path


def test_each_place_of_code_is_changed_and_no_text_type_or_exception(checkout):
    places = mutants(Path("bfc_bench/part.py"), checkout)
    made = [mutant for place in places for mutant in place]
    changed_lines = ("10", "0.5", "if ", "for", "continue", "+=", "> least", "7")
    expected = [i for i, line in enumerate(SOURCE.splitlines(), 1) if any(part in line for part in changed_lines)]
    assert sorted({mutant.line for mutant in made}) == expected
    texts = [mutant.changed_text.decode() for mutant in made]
    assert len({ast.dump(ast.parse(text)) for text in [*texts, SOURCE]}) == len(made) + 1
    assert [str(mutant).split(": ", 1)[1] for mutant in made if mutant.line == 16] == ["7  ->  (8)", "7  ->  (6)"]


def test_a_sample_has_different_places_and_is_the_same_for_the_same_seed(checkout):
    one, again, other = (list(sampled("part", 5, seed, checkout)) for seed in (1, 1, 2))
    assert one == again != other
    assert len({mutant.span for mutant in one}) == 5
    assert list(sampled("", 5, 1, checkout, without=["part"])) == []


def test_probes_note_and_change_nothing(checkout, monkeypatch):
    sample = list(sampled("part", 100, 0, checkout))
    noted = []
    names = {"at": lambda self, place: noted.append(place)}
    monkeypatch.setitem(sys.modules, "reached_places", type("Places", (), names)())
    plain, probed = {}, {}
    exec(SOURCE, plain)
    exec(with_probes(dict(enumerate(sample))), probed)
    assert [probed["above"](x) for x in range(5)] == [plain["above"](x) for x in range(5)]
    assert {sample[i].line for i in noted} == {mutant.line for mutant in sample} - {16}


def test_a_bug_is_found_where_a_test_that_reaches_it_fails(checkout):
    sample = list(sampled("part", 100, 0, checkout))
    tester = MutantTester(sample, checkout)
    assert (list(tester.seconds), tester.failed) == (["tests/test_part.py::test_the_limit"], set())
    survivors = []
    for i, mutant in enumerate(sample):
        assert bool(tester.tests_of(i, mutant)) == (mutant.line != 16)
        if mutant.line in (6, 16) and tester.survives(i, mutant):
            survivors.append(str(mutant).split(": ", 1)[1])
    assert "x < 0  ->  (x <= 0)" not in survivors
    assert [text for text in survivors if text.startswith("7")]
    assert (checkout / "bfc_bench" / "part.py").read_text() == SOURCE
