"""Pages let no script run but those of the templates."""

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from importlib.resources import files

import pytest
from browser import CHROMIUM
from synthetic import SUITE, row
from waiting import completed

from bfc_bench.report.html import write_report
from bfc_bench.report.template import policy_of
from bfc_bench.report.vega import library, page_script

INJECTED = "document.title = 'injected'"


def policy(page):
    """The directives of a page's policy by name."""
    start, found, _ = page.partition('<meta http-equiv="Content-Security-Policy" content="')
    assert found, "a page without a policy"
    assert not re.search("<(script|style|img|svg|title)", start), "what stands before the policy is not subject to it"
    return directives(unescape(page.removeprefix(start + found).partition('"')[0]))


def directives(text):
    return {name: values.split() for name, _, values in (part.strip().partition(" ") for part in text.split(";"))}


def allows(rules, script):
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in rules["script-src"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("pages"), suite=SUITE, rows=[row(nmse=0.5)]).read_text()


def test_a_report_has_the_policy_and_only_scripts_that_it_allows(page):
    rules = policy(page)
    assert rules == directives(policy_of(library(), page_script()))
    assert rules["default-src"] == ["'none'"]
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*"} & {*rules["script-src"]}
    scripts = re.findall(r"<script(?! type=\"application/json\")[^>]*>(.*?)</script>", page, re.DOTALL)
    assert scripts
    assert all(allows(rules, script) for script in scripts)
    assert not allows(rules, INJECTED)


def test_no_template_of_a_page_lacks_it():
    templates = [file.read_text() for file in files("bfc_bench.report").iterdir() if file.name.endswith(".html")]
    whole = [text for text in templates if "<html" in text]
    assert len(whole) == 2
    assert all("{{ content_policy }}" in text for text in whole)
    assert all(text.count("<script>{{ script }}</script>") == 1 for text in whole)


def test_our_scripts_cannot_be_ended_by_what_they_contain():
    for script in (library(), page_script()):
        assert "</script" not in script.lower()
        assert "<!--" not in script


@pytest.mark.browser
def test_in_a_browser_an_injected_script_does_not_run(page, tmp_path):
    def title(text):
        path = tmp_path / "page.html"
        path.write_text(text)
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.as_uri()]
        done = completed(command, timeout=120, check=True)
        return unescape(re.search("<title>(.*?)</title>", done.stdout)[1])

    assert title(page.replace("</body>", f"<script>{INJECTED}</script></body>")) != "injected"
    own = f"<script>{INJECTED}</script>"
    head = f'<title>as it was</title><meta http-equiv="Content-Security-Policy" content="{policy_of(INJECTED)}">'
    assert title(f"<!doctype html><html><head>{head}</head><body>{own}</body></html>") == "injected"
