"""Publishes a bundle as a data set of the Hugging Face hub, through the library huggingface_hub."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from types import ModuleType

from bfc_bench.errors import OutputError, UsageError, describe_error, error_text
from bfc_bench.extras.bundle.archive import Manifest, read_bundle
from bfc_bench.extras.bundle.verify import verify
from bfc_bench.plugins.manager import Plugins
from bfc_bench.store.export import axis_columns, parquet_bytes
from bfc_bench.store.row import COLUMNS
from bfc_bench.stored_suite import open_store
from bfc_bench.utils.escape_control import all_visible, visible
from bfc_bench.version import __version__

BUNDLE = "bundle.zip"
LEAST_SECONDS, LEAST_SPEED = 120.0, 1e5
"""The time that the server has: so many seconds, and those that a bundle takes at so many bytes a second."""
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_MARKDOWN = re.compile(r"([\\`*_\[\]|<>#~&$])")


def publish(path: Path, repository: str, plugins: Plugins, *, private: bool = False) -> str:
    """Check a bundle as ``verify --cells 0`` does and send it, its rows as parquet and a card, as one commit.

    Server and token are those of all programs of the hub: ``HF_ENDPOINT``, and ``HF_TOKEN`` or a login.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"--hub must name a repository as OWNER/NAME, such as ada/learning-curves. Got {repository}.")
    try:
        import huggingface_hub as hub
    except ImportError:
        raise UsageError("publish needs huggingface_hub: `python -m pip install 'bfc-bench[hub]'`.") from None
    except Exception as error:  # for a wrong value of one of its variables
        raise UsageError(f"huggingface_hub cannot be imported: {describe_error(error)}.") from None
    if differences := verify(path, plugins, cells=0).differences:
        raise OutputError(f"{path} is not published: `bfc-bench verify` finds a difference: {differences[0]}")
    with TemporaryDirectory(prefix="bfc-bench-") as folder:
        title = _prepare(path, Path(folder), repository, plugins)
        seconds = LEAST_SECONDS + path.stat().st_size / LEAST_SPEED
        try:
            return _within(seconds, lambda: _send(hub, Path(folder), repository, title, private))
        except Exception as error:  # the library and the server fail in many ways
            reason = visible(" ".join(error_text(error).split()))[:300] or type(error).__name__
            raise OutputError(
                f"{repository} is not published: {reason}. The server confirmed no commit. Log in with `hf auth login` "
                "if it asks for a token."
            ) from None


def _send(hub: ModuleType, folder: Path, repository: str, title: str, private: bool) -> str:
    """Send the files of a data set as one commit; returns its address."""
    api = hub.HfApi(library_name="bfc-bench", library_version=__version__)
    api.create_repo(repository, repo_type="dataset", private=private or None, exist_ok=True)
    message = f"Publish {title}"
    done = api.upload_folder(repo_id=repository, folder_path=folder, repo_type="dataset", commit_message=message)
    return str(done.commit_url)


def _within(seconds: float, call: Callable[[], str]) -> str:
    """What ``call`` gives. Raises ``TimeoutError`` if it takes longer; the process can end while it still waits."""
    outcome: list[str | Exception] = []

    def work() -> None:
        try:
            outcome.append(call())
        except Exception as error:
            outcome.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(f"the server took more than {seconds:.0f} s")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _prepare(path: Path, folder: Path, repository: str, plugins: Plugins) -> str:
    """Write the files of the data set into a folder; returns the title."""
    shutil.copyfile(path, folder / BUNDLE)
    bundle = read_bundle(path)
    with open_store(path, plugins=plugins) as store:
        for name, suite in store.items():
            axes = axis_columns(suite.axes(every=True))
            table = parquet_bytes(suite.each(every=True), [*COLUMNS, *axes], axes)
            (folder / f"{name}.parquet").write_bytes(table)
    (folder / "README.md").write_text(card(bundle.manifest, bundle.digest, repository))
    return bundle.manifest.title


def card(manifest: Manifest, digest: str, repository: str) -> str:
    """The card of a data set (https://huggingface.co/docs/hub/datasets-cards), with YAML that is written as JSON."""
    front = {
        "license": manifest.license.lower(),
        "pretty_name": manifest.title,
        "tags": ["bfc-bench", "sample-complexity"],
        "configs": [{"config_name": suite.id, "data_files": f"{suite.id}.parquet"} for suite in manifest.suites],
    }
    lines = [
        "---",
        *(f"{key}: {json.dumps(all_visible(value), ensure_ascii=False)}" for key, value in front.items()),
        "---",
        f"# {_plain(manifest.title)}",
        "",
        "Results of bfc-bench, a benchmark of how many samples learners need. "
        f"{_plain(', '.join(manifest.authors))}, {_plain(manifest.date)}. Licence: {_plain(manifest.license)}.",
        "",
        "| suite | rows | verdicts on its claims |",
        "|---|---|---|",
        *(
            f"| {_plain(suite.id)} | {sum(suite.statuses.values())} | "
            f"{', '.join(f'{count} {_plain(word)}' for word, count in sorted(suite.claims.items())) or 'no claims'} |"
            for suite in manifest.suites
        ),
        "",
        "To compute the verdicts again from the rows, and to run some of the cells again:",
        "",
        "```console",
        f"$ hf download {repository} {BUNDLE} --repo-type dataset --local-dir .",
        f"$ bfc-bench verify {BUNDLE}",
        "```",
        "",
        f"SHA-256 of the bundle's manifest: `{digest}`.",
        "",
    ]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """A text of a bundle in Markdown, where none of its characters has a meaning."""
    return _MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))
