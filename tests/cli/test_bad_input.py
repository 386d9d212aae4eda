"""Bad input: exit code 2, one message with file, key, range and nearest valid name, and nothing written."""

import sys

import pytest
from installed_faulty import announce
from small_tasks import SMALL

import bfc_bench
import bfc_bench.strategies.api
from bfc_bench.cli import WINDOWS, main
from bfc_bench.config import read_toml
from bfc_bench.plugins.manager import load_plugins

MANY = str(list(range(1, 1002)))
BROKEN = {
    # change to the suite, or the whole command line -> what the message must say
    ("replicates=10000000",): ["440,000,000 cells", "at most 1,000,000 can be planned"],
    ("learner.kernel-rbf.tune={ridge=[1.0, 1.0]}",): ["tune.ridge must hold different values"],
    ("learner.kernel-rbf.tune={ridge=[1.0]}", "learner.kernel-rbf.options.ridge=0.1"): ["ridge is fixed in options"],
    ("learner.kernel-rbf.tune={ridge=[1.0]}", "learner.kernel-rbf.climb=gamma"): ["climb must name an option that"],
    (f"learner.kernel-rbf.tune={{ridge={MANY}, bandwidth={MANY}}}",): [
        "tune has 1,002,001 combinations; at most 10,000"
    ],
    (f"learner.kernel-rbf.grid={{ridge={MANY}}}",): ["grid has 1,001 combinations; at most 1,000"],
    (f"task.teacher-L3.n={MANY}",): ["n must be at most 1,000 integers, not 1,001"],
    (f"learner.kernel-rbf.grid={{ridge={MANY[:-7]}]}}",): ["learner must have at most 1000 items, not 1007"],
    ('learner.kernel-rbf.label=""',): ["label must begin with a letter or a digit", "Got ''"],
    ("learner.random-forest.options.n_estimatorss=5",): ["Did you mean 'n_estimators'?"],
    ("learner.quad-densenet.name=quad-densnet",): ["unknown learner 'quad-densnet'", "Did you mean 'quad-densenet'?"],
    ("learner.quad-densenet.tune={lr=0.1}",): ["tune.lr must be a list", "Got 0.1"],
    ("learner.quad-densenet.tune=[]",): ["tune must be a table of lists, or a list of such tables", "Got []"],
    ("learner.quad-densenet.tasks=['teacher']",): ["unknown task 'teacher'", "Did you mean 'teacher-L3'?"],
    ("task.teacher-L3.n=[200, 100]",): ["n must be strictly increasing", "Got [200, 100]"],
    ("task.teacher-L3.d=[3]",): ["task 'teacher-L3'", "d = 3"],
    ("task.teacher-L3.inputs.kind='unifrom'",): ["unknown input distribution 'unifrom'", "'uniform'"],
    ("replicatess=2",): ["unknown option 'replicatess'", "Did you mean 'replicates'?"],
    ("learner.quad-densnet.options.steps=3",): ["no entry called 'quad-densnet'", "Did you mean 'quad-densenet'?"],
    ("replicates",): ["--set replicates: must have the form KEY=VALUE."],
}


@pytest.mark.parametrize("changes", BROKEN, ids=lambda c: c[0][:60])
def test_a_wrong_value_names_its_place_and_the_range(changes, refused, tmp_path):
    store = tmp_path / "store"
    message = refused("run", "smoke", "--store", store, *(part for c in changes for part in ("--set", c)))
    for expected in BROKEN[changes]:
        assert message.count(expected) == 1, message
    assert not store.exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rnu"], "Did you mean 'run'?"),
        (["run", "smok"], "unknown suite 'smok'. Did you mean 'smoke'?"),
        (["run", "clean.csv"], "clean.csv is a table, not a suite. `bfc-bench try clean.csv --target COLUMN` writes"),
        (["run", "."], "a suite must be the name of a suite or the path of its .toml file. . is a folder."),
        (["run", "smoke", "--seed", "5"], "No such option: --seed. seed is a key of the suite: write --set seed=..."),
        (["run", "smoke", "--device", "cpu", "--d", "10"], "d is a key of tasks: write --set task.NAME.d=..."),
        (["run", "smoke", "--set", "task.teacher-L3.n=100"], "task[0].n must be a list, such as [100]. Got 100."),
        (["run", "smoke", "--set", "task.teacher-L3.n=20,40"], "task[0].n must be a list, such as [20,40]."),
        (["run", "smoke", "--learner", "relu-mlpp"], "Did you mean 'relu-mlp'?"),
        (["run", "smoke", "--set", 'task.teacher-L3.labels={kind="clean", x=1}'], "'x'. Leave it out: there are no"),
        (["help"], "No such command 'help'. `bfc-bench --help` shows the commands."),
        (["check", "no/such/suite.toml"], "there is no file and no part 'no/such/suite.toml'"),
        (["run", "smoke", "--task", "teacher"], "the suite has no such task. Did you mean 'teacher-L3'?"),
        (["run", "smoke", "--jobs", "0"], "--jobs"),
        (["run", "smoke", "--hours", "1"], "--hours needs --until-decided"),
        (["run", "smoke", "--up-to", "9"], "--up-to needs --until-decided"),
        (["run", "smoke", "--until-decided", "--hours", "0"], "--hours must be positive. Got 0"),
        (["run", "smoke", "--until-decided", "--up-to", "2"], "--up-to must be at least 3"),
        (["run", "smoke", "--locate", "1.1", "--until-decided"], "--locate and --until-decided"),
        (["run", "smoke", "--locate", "1"], "locate: factor must be greater than or equal to 1.1. Got 1.0"),
        (["run", "smoke", "-n100"], "n is a key of tasks: write --set task.NAME.n=..."),
        (["run", "smoke", "--set", "locat.factor=1.5"], "unknown option 'locat'. Did you mean 'locate'?"),
        (["run", "smoke", "--set", "replicates.x.y=1"], "'replicates.x.y' does not name a key"),
        (["run", "strongest", "--set", "levels.a.b=3"], "'levels.a.b' does not name a key"),
        (["run", "smoke", "--set", "task.teacher-L3.grid.x=[1979-05-27,1980-05-27]"], "unknown option 'x'"),
        (["run", 300 * "a"], "unknown suite 'aaa"),
        (["run", "points.NPZ"], 'data = { kind = "npz", path = "points.NPZ" }'),
        (["show", "sklern:svm.SVC"], "unknown learner 'sklern'. Did you mean 'sklearn'?"),
        (["results", "smoke", "--format", "csv", "--first", "1"], "--first is for --format table. Got --format csv."),
    ],
)
def test_wrong_words_suggest_the_nearest(arguments, expected, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    assert expected in refused(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_verbs_without_a_suite_do_not_advise_to_set_its_keys(refused):
    for arguments in (["check", "kernel-ridge"], ["try", "a.csv"], ["data", "show", "digits"]):
        said = refused(*arguments, "--seed", "5")
        assert "No such option: --seed" in said
        assert "is a key of" not in said


def test_a_suite_without_its_ending_and_a_module_that_raises_are_named(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("")
    assert "there is no suite 'mine'. Did you mean the file mine.toml?" in refused("run", "mine")
    (tmp_path / "raises_at_import.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "ZeroDivisionError: division by zero" in refused("check", "raises_at_import:Mine")


@pytest.mark.parametrize(
    "arguments",
    [["check", "mine"], ["show", "mine"], ["plan", "smoke", "--learner", "mine"], ["plan", "mine"], ["mine"]],
)
def test_an_unknown_name_may_be_one_of_a_plugin_that_is_broken(arguments, tmp_path, monkeypatch, refused):
    (tmp_path / "no_python.py").write_text("def (")
    announce(tmp_path, "mine", "mine", "no_python", monkeypatch)
    assert "Plugin 'mine:mine' is unavailable: SyntaxError" in refused(*arguments)


def test_a_change_reaches_a_learner_that_the_command_adds(suite_file):
    path = suite_file(learner=[{"name": "random-features"}])
    changes, added = ["learner.kernel-ridge.options.degree=3"], ["random-features", "kernel-ridge"]
    grid = bfc_bench.strategies.api.grid_of(path, changes, load_plugins(), added, ())
    assert grid.entries["kernel-ridge"].learner.degree == 3
    assert list(grid.entries) == added


def test_a_table_in_the_place_of_a_list_of_tables_says_how_to_write_it(tmp_path, refused):
    (tmp_path / "one.toml").write_text('name = "one"\n[task]\nname = "t"\n[[learner]]\nname = "kernel-ridge"\n')
    assert "task must be a list of tables: write [[task]] in place of [task]." in refused("plan", tmp_path / "one.toml")


def test_other_tasks_under_the_name_of_a_suite_are_told(suite_file, tmp_path):
    first = suite_file(learner=[{"name": "kernel-ridge"}])
    session = bfc_bench.run_suite(first, bfc_bench.RunOptions(store=tmp_path / "s", executor="serial"))
    assert session.plan.cautions == []
    values = read_toml(first)
    other = bfc_bench.Suite(**{**values, "task": [{**values["task"][0], "name": "other"}]})
    session = bfc_bench.run_suite(other, bfc_bench.RunOptions(store=tmp_path / "s", executor="serial"))
    (caution,) = session.plan.cautions
    assert "on t, which this suite does not have" in caution
    assert "another name or version" in caution


def test_a_file_that_is_not_toml_names_the_line(tmp_path, refused):
    path = tmp_path / "broken.toml"
    path.write_text('name = "x"\nversion = = 1\n')
    message = refused("run", path)
    assert "broken.toml: not valid TOML" in message
    assert "line 2" in message


def test_windows_is_told_in_one_line_where_it_can_run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"bfc-bench: {WINDOWS}\n"
    assert "Windows Subsystem for Linux" in WINDOWS


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"\x00\xff\xfe", "byte 2 is 0xff"), ('name = "caf\xe9"'.encode("latin-1"), "byte 12 is 0xe9")],
)
def test_a_file_that_is_not_utf8_says_where(content, expected, tmp_path, refused):
    path = tmp_path / "suite.toml"
    path.write_bytes(content)
    assert f"suite.toml: must be a text in UTF-8; {expected}." in refused("plan", path)


def test_a_byte_order_mark_and_windows_line_ends_are_no_fault(tmp_path):
    path = tmp_path / "suite.toml"
    path.write_bytes(b"\xef\xbb\xbf" + b'a = 1\r\nb = """x\r\ny"""\r\n')
    assert read_toml(path) == {"a": 1, "b": "x\ny"}


def test_files_and_folders_are_not_taken_for_one_another(tmp_path, refused):
    file = tmp_path / "file"
    file.write_text("kept")
    for verb in ("plan", "run"):
        assert f"--store must name the folder of a store. {file} is a file." in refused(verb, "smoke", "--store", file)
    assert file.read_text() == "kept"


def test_a_new_learner_needs_a_short_name(refused):
    assert "at most 60 characters" in refused("new", "learner", "a" * 300)


def test_learners_and_tasks_without_a_common_cell_are_named(suite_file, refused):
    tasks = [{**SMALL, "name": name} for name in "ab"]
    suite = suite_file(task=tasks, learner=[{"name": "kernel-ridge", "tasks": ["a"]}])
    assert "have no cell in common" in refused("plan", suite, "--learner", "kernel-ridge", "--task", "b")
