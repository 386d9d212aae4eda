"""The suite of the paper's size runs as it is written, here on small networks and a few images in CIFAR's format."""

import numpy as np
import pytest
from data_files import write

from bfc_bench import load_learner, load_plugins, open_store
from bfc_bench.suite.read import read_suite

SMALL = {
    "correction-l2": {"architecture": "wrn-10-1", "epochs": 1, "pictures": 3, "picture_steps": 5},
    "layerwise-resnet-34": {"architecture": "wrn-10-1", "widen": 1, "epochs": 1},
    "alexnet": {"epochs": 1, "pictures": 4, "picture_steps": 5},
    "quadratic-16": {"architecture": "wrn-10-1", "epochs": 1},
    "ntk": {"architecture": "wrn-10-1", "epochs": 1},
}
"""What is changed of some learners, by label."""


def images(n, classes):
    """Labels (n, 1), in turn, and images (n, 3072) whose waves tell them, as bytes."""
    labels, rng = np.arange(n) % classes, np.random.default_rng(n)
    waves = np.sin(np.arange(32) * (1 + labels[:, None] % 10) / 5)[:, None, None, :]
    pixels = 128 + 60 * waves + 20 * rng.standard_normal((n, 3, 32, 32))
    return labels.astype(np.uint8)[:, None], pixels.clip(0, 255).astype(np.uint8).reshape(n, -1)


@pytest.fixture
def cifar(tmp_path):
    """A folder with a few hundred images in the binary format of CIFAR-10 and of CIFAR-100."""
    ten, (labels, pixels) = np.hstack(images(100, 10)).tobytes(), images(300, 100)
    batches = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    write(tmp_path / "data" / "cifar-10-batches-bin", {f"{name}.bin": ten for name in batches})
    hundred, names = np.hstack([labels // 5, labels, pixels]).tobytes(), [f"kind{number}" for number in range(100)]
    files = {"train.bin": hundred, "test.bin": hundred, "fine_label_names.txt": "\n".join(names).encode()}
    write(tmp_path / "data" / "cifar-100-binary", files)
    return tmp_path / "data"


def test_its_cells_declare_no_more_than_they_may_take():
    suite = read_suite(load_plugins().suites.get("images-cifar"))
    for entry in suite.learner:
        cost = load_learner(entry.name, **entry.options).cost(50_000, 3 * 32 * 32)
        assert cost.bytes < suite.budget.memory_gb * 1e9, entry.label


@pytest.mark.slow
def test_its_learners_run_on_images_of_its_format(bench, cifar, tmp_path):
    changes = [f"learner.{label}.options.{name}={value}" for label, all in SMALL.items() for name, value in all.items()]
    sizes = [f"task.{task}.n=[200]" for task in ("cifar-10", "cifar-100", "cifar-10-zca", "cifar-10-curve")]
    options = [part for change in [*changes, *sizes, "replicates=1", "test_size=100"] for part in ("--set", change)]
    where = ["--data", cifar, "--store", tmp_path / "store", "--device", "cpu", "--jobs", "1"]
    some = [part for label in SMALL for part in ("--learner", label)]
    done = bench("run", "images-cifar", *where, *some, *options, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    with open_store(tmp_path / "store") as results:
        suite = results["images-cifar@1"]
        rows = {(row.task, row.label): row for row in suite.rows()}
        assert {label for _, label in rows} == set(SMALL)
        assert ("cifar-100", "layerwise-resnet-34") in rows
        for row in rows.values():
            assert row.status == "ok", row.reason
            assert 0 <= row.error_rate <= 1
        attacked = rows["cifar-10", "correction-l2"]
        assert {"only-attacked", "fix-l-2-attacked", "pull-5e-4-attacked"} <= set(attacked.stages)
        assert abs(attacked.chosen["info"]["correlation"]["pull-5e-4"]["ratio"]) > 0
        assert ("cifar-10-zca", "ntk") in rows
        assert list(suite.artifacts(attacked)) == [f"features-block0{place}.png" for place in (1, 2, 3)]
        assert list(suite.artifacts(rows["cifar-10", "alexnet"])) == ["features-block01.png"]
        assert {verdict.verdict for verdict in suite.claims()} <= {"undecided", "no data", "supported", "contradicted"}
