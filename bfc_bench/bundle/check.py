"""Checks the entries of a results repository: what they are, whether their rows are found again, what they change."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version as release_of
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bfc_bench.bundle.archive import SUITE, Archive, folder_of
from bfc_bench.bundle.repository import (
    CHECKS,
    RESULTS,
    SUITES,
    Place,
    RepositorySettings,
    bytes_of,
    places,
    settings_of,
)
from bfc_bench.bundle.unpack import stores_of
from bfc_bench.bundle.verify import UNCHECKED, verify
from bfc_bench.errors import BenchError, StoreError, UsageError, describe_error, error_text, suggest
from bfc_bench.plugins import Plugins
from bfc_bench.run.executor_selection import DEFAULT
from bfc_bench.run.grid import resolve
from bfc_bench.store.merge import NEWER, merge
from bfc_bench.stored_suite import OpenStore
from bfc_bench.suite.model import Suite, read_suite
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.files import write_file
from bfc_bench.utils.plain_json import readable_json

FORMAT = 1


@dataclass
class Checked:
    """What the check of an entry found."""

    entry: str
    """The folder of the entry, such as ``results/smoke/1/ada``."""
    mark: str = UNCHECKED
    """One of ``MARKS``."""
    problems: list[str] = field(default_factory=list)
    """Why the entry cannot be accepted, a line each."""
    digest: str = ""
    """SHA-256 of its manifest."""
    authors: list[str] = field(default_factory=list)
    machines: dict[str, int] = field(default_factory=dict)
    """Number of rows by machine."""
    verdicts: dict[str, str] = field(default_factory=dict)
    """The verdict on each claim by the rows of the entry."""
    added: int = 0
    """Cells that no other entry of the suite has."""
    changed: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Claims whose verdict by all entries changes with this one, if there are others: without it and with it."""

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return dict(vars(self))


def check(
    repository: Path,
    plugins: Plugins,
    *,
    since: str = "",
    draw: str = "",
    executor: str = DEFAULT,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Checked]:
    """Check the entries of a results repository, and write what was found to ``checks.json``.

    Args:
        repository: The folder with ``results.toml``.
        plugins: The plugins. Nothing else is imported, whatever the entries name.
        since: A commit: only entries that changed since the work tree left it are checked, and compared with it. Empty:
            all entries are, and each is compared with the others.
        draw: Text that changes which cells are drawn, so that a contributor cannot know them.
        executor: Name of the executor.
        tell: Called with each line of the result.

    Raises:
        UsageError: The settings or the suites of the repository are wrong, or git does not know ``since``.
    """
    settings, suites = settings_of(repository), _suites(repository, plugins)
    chosen, odd = places(repository)
    with _earlier(repository, since) as earlier:
        changed = None if earlier is None else _changed(repository, since, tell)
        if changed is not None:
            chosen = [place for place in chosen if place.name in changed]
            odd = [path for path in odd if any(f"{name}/".startswith(f"{path}/") for name in changed)]
        others = places(repository if earlier is None else earlier)[0]
        found = [
            Checked(path, problems=["this is no entry: an entry is a folder results/SUITE/VERSION/SOURCE"])
            for path in odd
        ]
        for one in found:
            tell(visible(f"REFUSED  {one.entry}: {one.problems[0]}"))
        for place in chosen:
            checker = _Check(place, settings, suites, plugins, tell, Checked(place.name))
            checker.run([other for other in others if earlier or other.name != place.name], draw, executor)
            found.append(checker.found)
    file = repository / CHECKS
    if file.is_symlink():
        file.unlink()
    entries = {one.entry: one.as_dict() for one in found}
    write_file(file, readable_json({"format": FORMAT, "release": release_of("bfc-bench"), "entries": entries}))
    return found


@dataclass
class _Check:
    place: Place
    settings: RepositorySettings
    suites: Mapping[tuple[str, int], Suite]
    plugins: Plugins
    tell: Callable[[str], None]
    found: Checked

    def run(self, others: Sequence[Place], draw: str, executor: str) -> None:
        """Check the entry and compare it with ``others``."""
        self.say(f"{self.place.name}:")
        try:
            known = self._checked_facts()
            with stores_of([self.place.folder]) as stores:
                store = stores[self.place.folder]
                self._require_known(store, known)
                done = verify(
                    self.place.folder,
                    self.plugins,
                    cells=self.settings.cells if known else 0,
                    doubted=self.settings.doubted,
                    seconds=self.settings.seconds,
                    tolerance=self.settings.tolerance,
                    draw=draw,
                    executor=executor,
                    must_run=False,
                    tell=lambda text: self.say(f"  {text}"),
                )
                self.found.problems += done.differences
                self.found.mark = done.mark
                self._compare(store, others)
        except BenchError as error:
            self._refuse(error_text(error))
        except Exception as error:  # of hostile values that pass every check
            self._refuse(describe_error(error))
        self.say(f"  {self.found.mark.upper()}  {self.place.name}")

    def say(self, text: str) -> None:
        self.tell(visible(text, 2000))

    def _refuse(self, problem: str) -> None:
        self.found.mark = UNCHECKED
        problem = " ".join(problem.replace(str(self.place.folder), self.place.name).split())
        self.found.problems.append(visible(problem, 2000))
        self.say(f"  REFUSED  {self.found.problems[-1]}")

    def _checked_facts(self) -> Suite | None:
        """The repository's suite of the same version, if it has that; raises ``BenchError`` for a refused entry."""
        size, most = bytes_of(self.place.folder) / 1e6, self.settings.megabytes
        if size > most:
            raise UsageError(
                f"it has {size:.3g} MB; this repository takes entries of at most {most:g} MB (`megabytes` in "
                "results.toml). Leave out the figures by `bfc-bench bundle --no-figures`."
            )
        with Archive(self.place.folder) as archive:
            manifest, self.found.digest = archive.manifest, archive.digest
            if [f"{name}/{version}" for name, version in archive.suites] != [
                f"{self.place.suite}/{self.place.version}"
            ]:
                held = ", ".join(f"{name}@{version}" for name, version in archive.suites)
                raise UsageError(f"its folder must be results/SUITE/VERSION/SOURCE of the one suite it holds: {held}.")
            if manifest.get("license") not in self.settings.licences:
                allowed = " or ".join(self.settings.licences)
                raise UsageError(f"its licence must be {allowed}. Got {manifest.get('license')!r}.")
            self.found.authors = [str(name) for name in manifest.get("authors") or ()]
            self.found.machines = dict(manifest["suites"][0].get("machines") or {})
            [key] = archive.suites
            given = archive.read_json(f"{folder_of(*key)}/{SUITE}")
        known = self.suites.get(key)
        if known is None:
            versions = [version for name, version in self.suites if name == key[0]]
            if not versions:
                near = suggest(key[0], {name for name, _ in self.suites})
                raise UsageError(
                    f"the suite {key[0]} is not installed and has no file in suites/.{near} Install the package that "
                    "provides it, or ask the maintainers to add its file."
                )
            self.say(
                f"  {key[0]}@{key[1]} is another version than the known {', '.join(map(str, sorted(versions)))}: its "
                "verdicts are computed by its own definition, and no cell is run again"
            )
        elif given.get("claim") != known.definition()["claim"]:
            raise UsageError(
                f"its claims are not those of the known suite {key[0]}@{key[1]}. Write the bundle again by the "
                f"suite's name or file, without @{key[1]}, so that it has the present claims."
            )
        return known

    def _require_known(self, directory: Path, known: Suite | None) -> None:
        """Raise ``UsageError`` unless what was run is installed, and its tasks and labels are those of the suite."""
        name, version = self.place.suite, int(self.place.version)
        with OpenStore(directory, self.plugins) as store:
            run = Suite.parse({**store[f"{name}@{version}"].definition, "executor": None, "claim": []}, "its run")
            current = store.store.sessions.definitions(name, version)
        if known is None:
            return
        same = known.model_copy(update={"seed": run.seed, "test_size": run.test_size})
        grid = resolve(same, self.plugins, name)
        tasks = {task: digest for (kind, task), digest in current.items() if kind == "task"}
        if wrong := sorted(task for task, digest in tasks.items() if digest != grid.task_digests.get(task)):
            raise UsageError(
                f"its task {wrong[0]} is not that of the known suite {name}@{version}. Run the suite's tasks "
                "unchanged, or give the suite another version."
            )
        entries = {entry.label: entry for entry in known.learner}
        for entry in run.learner:
            if entry.label in entries and entry.options != entries[entry.label].options:
                raise UsageError(
                    f"its learner {entry.label} has other options than in the known suite {name}@{version}. Give it "
                    "another label."
                )
        resolve(run, self.plugins, "its run")

    def _compare(self, store: Path, others: Sequence[Place]) -> None:
        """Count the cells that the entry adds to the others of its suite, and say which verdicts change."""
        name, version = self.place.suite, int(self.place.version)
        same = [other for other in others if (other.suite, other.version) == (name, self.place.version)]
        with TemporaryDirectory(prefix="bfc-bench-") as folder:
            into = Path(folder, "all")
            for other in same:
                try:
                    with stores_of([other.folder]) as stores:
                        merge([stores[other.folder]], into, prefer=NEWER)
                except StoreError as error:
                    self.say(f"  {other.name} is not compared: {error_text(error)}")
            self.found.verdicts = self._verdicts(store)
            before = self._verdicts(into) if into.exists() else {}
            try:
                done = merge([store], into)
            except StoreError as error:
                for line in error_text(error).splitlines()[1:]:
                    named = line.replace(str(into), "the other entries").replace(str(store), "this entry")
                    self.say(f"  OTHER RESULTS {named}")
                done = merge([store], into, prefer=NEWER)
            after = self._verdicts(into)
        self.found.added = done.new
        self.found.changed = {
            id: (before.get(id, "not judged"), word) for id, word in after.items() if before and before.get(id) != word
        }
        others_are = "1 other entry" if len(same) == 1 else f"{len(same)} other entries"
        self.say(f"  {done.new} cells are new beside {others_are}; {done.equal} are there already")
        for id, (old, new) in self.found.changed.items():
            self.say(f"  CHANGES  {name}@{version}/{id}: {old} without this entry, {new} with it")

    def _verdicts(self, directory: Path) -> dict[str, str]:
        name, version = self.place.suite, int(self.place.version)
        with Archive(self.place.folder) as archive, OpenStore(directory, self.plugins) as store:
            given = archive.read_json(f"{folder_of(name, version)}/{SUITE}")
            suite = store.of(Suite.parse(given, name))
            return {verdict.id: verdict.verdict for verdict in suite.claims()}


def _suites(repository: Path, plugins: Plugins) -> dict[tuple[str, int], Suite]:
    """The suites that are installed, and those of the files in the repository, by name and version."""
    files = [plugins.suites.get(name) for name in plugins.suites]
    files += sorted(path for path in (repository / SUITES).glob("*.toml") if not path.is_symlink())
    suites = [read_suite(path) for path in files]
    return {(suite.name, suite.version): suite for suite in suites}


@contextmanager
def _earlier(repository: Path, since: str) -> Iterator[Path | None]:
    """A temporary folder with the entries at the commit where the work tree left ``since``; None without ``since``."""
    if not since:
        yield None
        return
    base = _base(repository, since)
    with TemporaryDirectory(prefix="bfc-bench-") as folder:
        if _git(repository, "ls-tree", "-z", base, "--", RESULTS):
            content = io.BytesIO(_git(repository, "archive", "--format=tar", base, "--", RESULTS))
            with tarfile.open(fileobj=content) as archive:
                archive.extractall(folder, filter=_plain_file)
        yield Path(folder)


def _plain_file(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    return tarfile.data_filter(member, folder) if member.isfile() or member.isdir() else None


def _changed(repository: Path, since: str, tell: Callable[[str], None]) -> set[str]:
    """The folders of the entries that differ from the commit, after a line for other files that do."""
    base = _base(repository, since)
    listed = _git(repository, "diff", "--name-only", "-z", "--relative", base)
    listed += _git(repository, "ls-files", "-z", "--others", "--exclude-standard")
    paths = sorted(path for path in listed.decode("utf-8", "replace").split("\0") if path)
    if outside := [path for path in paths if not path.startswith(f"{RESULTS}/")]:
        tell(visible(f"REVIEW  files other than results were changed: {', '.join(outside)}", 2000))
    return {"/".join(path.split("/")[:4]) for path in paths if path.startswith(f"{RESULTS}/")}


def _base(repository: Path, since: str) -> str:
    return _git(repository, "merge-base", "--end-of-options", since, "HEAD").decode().strip()


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, check=True)
    except subprocess.CalledProcessError as error:
        said = visible(error.stderr.decode("utf-8", "replace").strip(), 300)
        raise UsageError(f"git {arguments[0]} failed in {repository}: {said or 'it gave no reason'}.") from None
    except OSError as error:
        raise UsageError(f"--since needs git, which cannot be run: {error.strerror}.") from None
    return done.stdout
