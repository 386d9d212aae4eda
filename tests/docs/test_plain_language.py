"""The check that ``tox run -e lint`` makes of phrases finds them, and finds none in the project."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_phrase_is_found_with_its_place(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import phrases

    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "page.md").write_text("A learner that is too slow is stopped.\nWhoever is too slow is stopped.\n")
    subprocess.run(["git", "add", "page.md"], cwd=tmp_path, check=True)
    assert phrases.unclear(tmp_path) == ["page.md:2: Whoever is too slow is stopped."]
    (tmp_path / "page.md").unlink()
    assert phrases.unclear(tmp_path) == [], "a deletion that is not committed yet"
