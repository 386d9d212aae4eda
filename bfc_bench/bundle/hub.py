"""Publishes a bundle as a data set of the Hugging Face hub, through the library huggingface_hub.

The repository has the files of the bundle, unpacked, in the folder ``bundle``, and a card, README.md, by which the hub
and ``datasets.load_dataset`` find the rows of each suite. All of them are one commit.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfc_bench.bundle.archive import CLAIMS, MANIFEST, ROWS, Archive, folder_of
from bfc_bench.bundle.metadata import KEYWORDS, PROJECT
from bfc_bench.bundle.verify import verify
from bfc_bench.errors import OutputError, UsageError, error_text
from bfc_bench.plugins import Plugins
from bfc_bench.utils.escape_control import all_visible, visible

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo, HfApi

FOLDER = "bundle"
"""Folder of the bundle in the repository, so that no file of the hub is among its files."""
CARD = "README.md"
_OF_THE_HUB = (CARD, ".gitattributes")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_MARKDOWN = re.compile(r"([\\`*_\[\]|<>#~&$])")
_NOT_IN_CONFIGS = re.compile(r"[^A-Za-z0-9._@+-]")


@dataclass(frozen=True)
class Upload:
    """What is sent to a repository."""

    repository: str
    """OWNER/NAME."""
    files: Mapping[str, bytes]
    """Contents by path in the repository."""
    title: str
    digest: str
    """SHA-256 of the manifest of the bundle."""


@dataclass(frozen=True)
class Published:
    """What the server confirmed."""

    address: str
    """Of the data set, or of the pull request."""
    revision: str
    """The branch, or the reference of the pull request; empty for the main branch."""


def prepare(path: Path, repository: str, plugins: Plugins) -> Upload:
    """Check a bundle as ``verify --cells 0`` does, and make the files of its data set. Nothing is sent.

    Args:
        path: The bundle.
        repository: OWNER/NAME.
        plugins: The plugins, which provide tasks and claims.

    Raises:
        UsageError: The repository is not named as OWNER/NAME.
        StoreError: The file is not a bundle, or is damaged.
        OutputError: The verdicts of the bundle do not follow from its rows.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"--hub must name a repository as OWNER/NAME, such as ada/learning-curves. Got {repository}.")
    checked = verify(path, plugins, cells=0)
    if checked.differences:
        raise OutputError(
            f"{path} is not published, since `bfc-bench verify --cells 0` finds a difference: {checked.differences[0]}"
        )
    with Archive(path) as archive:
        if archive.digest != checked.digest:
            raise OutputError(f"{path} changed while it was read. Run the command again.")
        card = dataset_card(archive, repository).encode()
        files = {f"{FOLDER}/{name}": content for name, content in archive.contents()}
        return Upload(repository, {CARD: card, **files}, str(archive.manifest.get("title")), archive.digest)


def publish(
    upload: Upload, *, private: bool = False, revision: str = "", message: str = "", create_pr: bool = False
) -> Published:
    """Send a bundle to its repository as one commit, which replaces an earlier bundle there.

    The server is that of ``HF_ENDPOINT``, and the token that of ``HF_TOKEN`` or of a login, as for all programs of the
    hub.

    Args:
        upload: What ``prepare`` made.
        private: Whether only its owner sees the repository. An existing one must be private already.
        revision: The branch; it is made if it does not exist. Empty means the main branch.
        message: The message of the commit; by default it has the title of the bundle.
        create_pr: Whether to propose the files as a pull request to a repository, which must exist.

    Raises:
        UsageError: huggingface_hub is not installed, or there is no token.
        OutputError: The repository has other contents, or is public instead of private; or the server refuses, fails or
            cannot be reached, and confirmed no commit.
    """
    try:
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.utils import disable_progress_bars
    except ImportError:
        raise UsageError(
            "publish --hub: sending needs huggingface_hub: `python -m pip install 'bfc-bench[hub]'`."
        ) from None
    from huggingface_hub.errors import HTTPError

    if not sys.stderr.isatty():
        disable_progress_bars()
    token = None
    try:
        if (token := get_token()) is None:
            raise UsageError(
                "publish --hub: there is no token. Run `hf auth login`, or set HF_TOKEN to a token that may write."
            )
        api = HfApi(token=token, library_name="bfc-bench", library_version=version("bfc-bench"))
        if not create_pr:
            api.create_repo(upload.repository, repo_type="dataset", private=private or None, exist_ok=True)
            if revision:
                api.create_branch(upload.repository, repo_type="dataset", branch=revision, exist_ok=True)
        done = _commit(api, upload, private, revision, message or f"Publish {upload.title}", create_pr)
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        problem = _problem(error, upload.repository)
        problem = problem.replace(token, "***") if token else problem
        raise OutputError(f"{upload.repository} is not published: {problem} The server confirmed no commit.") from None
    if create_pr:
        return Published(str(done.pr_url), str(done.pr_revision))
    return Published(str(done.repo_url), revision)


def _commit(api: HfApi, upload: Upload, private: bool, revision: str, message: str, create_pr: bool) -> CommitInfo:
    """Commit the files in place of those of an earlier bundle; raises ``OutputError`` if the repository is another."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    info = api.dataset_info(upload.repository, revision=revision or None)
    if private and not info.private:
        raise OutputError(
            f"{upload.repository} exists and is public. Make it private in its settings, or publish without --private."
        )
    there = api.list_repo_files(upload.repository, repo_type="dataset", revision=info.sha)
    others = [file for file in there if file not in _OF_THE_HUB and not file.startswith(f"{FOLDER}/")]
    if others and f"{FOLDER}/{MANIFEST}" not in there:
        raise OutputError(
            f"{upload.repository} holds other files, such as {visible(min(others))}, and no bundle. Choose another "
            "name."
        )
    operations: list[Any] = [CommitOperationAdd(name, content) for name, content in sorted(upload.files.items())]
    old = [file for file in there if file.startswith(f"{FOLDER}/") and file not in upload.files]
    operations += [CommitOperationDelete(file, is_folder=False) for file in old]
    done: CommitInfo = api.create_commit(
        upload.repository,
        operations,
        commit_message=message,
        commit_description=f"SHA-256 of the manifest: {upload.digest}",
        repo_type="dataset",
        revision=revision or None,
        create_pr=create_pr,
        parent_commit=info.sha,
    )
    return done


def _problem(error: BaseException, repository: str) -> str:
    """An error of the library as one sentence that says what to do."""
    if isinstance(error, RuntimeError) and error.__cause__ is not None:  # of the upload of a file, in a thread
        error = error.__cause__
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    said = getattr(error, "server_message", None) or error_text(error)
    said = visible(" ".join(said.split()))[:300].rstrip(".")
    known = {
        401: f"the server does not accept the token, or you may not see {repository} (401). Run `hf auth login` again, "
        "or set HF_TOKEN to a valid token.",
        403: f"your token may not write there (403: {said}). Use a token that may, a repository of your own, or "
        "--create-pr.",
        404: f"there is no data set {repository} or no such revision, or you may not see it (404).",
        412: "the repository changed meanwhile (412). Run the command again.",
    }
    if status is not None:
        return known.get(status, f"the server answered {status}: {said}. Run the command again later.")
    if isinstance(error, ValueError):
        return f"{said}."
    return f"the server cannot be reached: {said}. HF_ENDPOINT names another one."


def dataset_card(archive: Archive, repository: str) -> str:
    """The card of a data set (https://huggingface.co/docs/hub/datasets-cards), with YAML that is written as JSON.

    Args:
        archive: The bundle.
        repository: OWNER/NAME.
    """
    about = archive.manifest
    title, licence, date = (str(about.get(name, "")) for name in ("title", "license", "date"))
    names = about.get("authors")
    authors = [str(name) for name in names] if isinstance(names, list) else []
    suites = about["suites"]
    configs = [
        {"config_name": config_of(suite), "data_files": f"{FOLDER}/{folder_of(suite['name'], suite['version'])}/{ROWS}"}
        for suite in suites
    ]
    front = {
        "license": licence.lower(),
        "pretty_name": title,
        "tags": ["bfc-bench", *(keyword.replace(" ", "-") for keyword in KEYWORDS)],
        "configs": configs,
    }
    name = repository.rpartition("/")[2]
    lines = [
        "---",
        *(f"{key}: {json.dumps(all_visible(value), ensure_ascii=False)}" for key, value in front.items()),
        "---",
        f"# {_plain(title)}",
        "",
        f"Results of [bfc-bench]({PROJECT}), a benchmark of how many samples learners need.",
        f"Licence: {_plain(licence)}.",
        "",
        "| suite | rows | ok | verdicts on its claims |",
        "|---|---|---|---|",
        *(_line(archive, suite) for suite in suites),
        "",
        "## Load the rows",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'rows = load_dataset("{repository}", "{configs[0]["config_name"] if configs else ""}")["train"]',
        "```",
        "",
        f"`{FOLDER}/croissant.json` describes the columns, if the bundle has it. Nested columns are JSON texts.",
        "",
        "## Check them",
        "",
        "```console",
        f"$ hf download {repository} --repo-type dataset --local-dir {name}",
        f"$ bfc-bench verify {name}/{FOLDER}",
        "```",
        "",
        "`verify` compares every file with its digest, computes the verdicts again from the rows, and runs some of the "
        "cells again.",
        f"SHA-256 of the manifest: `{archive.digest}`.",
        "",
        "## Cite them",
        "",
        f"{_plain(', '.join(authors))}: {_plain(title)}, {_plain(date)}.",
        f"`{FOLDER}/CITATION.cff` has the same for programs.",
        "",
    ]
    return "\n".join(lines)


def config_of(suite: Mapping[str, Any]) -> str:
    """The name by which ``load_dataset`` finds a suite of the manifest."""
    return _NOT_IN_CONFIGS.sub("-", f"{suite['name']}@{suite['version']}")


def _line(archive: Archive, suite: Mapping[str, Any]) -> str:
    statuses = suite.get("statuses")
    counts = {str(k): v for k, v in statuses.items() if type(v) is int} if isinstance(statuses, dict) else {}
    verdicts = archive.read_json(f"{folder_of(suite['name'], suite['version'])}/{CLAIMS}")
    counted = Counter(str(verdict["verdict"]) for verdict in _records(verdicts) if "verdict" in verdict)
    said = ", ".join(f"{count} {_plain(verdict)}" for verdict, count in sorted(counted.items()))
    return f"| {_plain(config_of(suite))} | {sum(counts.values())} | {counts.get('ok', 0)} | {said or 'no claims'} |"


def _records(values: Any) -> Sequence[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _plain(text: str) -> str:
    """A text of a bundle in Markdown, where none of its characters has a meaning."""
    return _MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))
