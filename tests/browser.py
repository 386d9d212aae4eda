"""Chromium through its driver, for tests that look at pages as readers do."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from importlib.resources import files
from pathlib import Path
from typing import Any

DRIVER = shutil.which("chromedriver")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element in answers of the driver, from the W3C's specification of WebDriver."""


class Browser:
    """One window without a screen, which reaches nothing but this machine.

    Args:
        width: Width of the page in pixels.
        height: Height of the page in pixels.
        dark: Whether the reader prefers dark colours.
        scripts: Whether pages may run scripts.
    """

    def __init__(self, width=1400, height=1000, *, dark=False, scripts=True):
        self.driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = line.rsplit("port", 1)[1].strip(" .\n")
                self.address = f"http://127.0.0.1:{port}"
                break
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]
        arguments += [f"--window-size={width},{height}", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        options: dict[str, Any] = {"args": arguments}
        if not scripts:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options}
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{answer['sessionId']}"
        # A window cannot be narrower than 500 pixels; a page can.
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        if dark:
            feature = {"name": "prefers-color-scheme", "value": "dark"}
            self.devtools("Emulation.setEmulatedMedia", features=[feature])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._send("DELETE", self.session)
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()

    def open(self, page):
        """Load a page."""
        self._send("POST", f"{self.session}/url", {"url": page.as_uri() if isinstance(page, Path) else page})

    def run(self, script, *arguments):
        """The value that JavaScript returns."""
        return self._send("POST", f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The value that JavaScript passes to its last argument."""
        return self._send("POST", f"{self.session}/execute/async", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments, seconds=120):
        """The first true value that JavaScript returns."""
        end = time.monotonic() + seconds
        while not (value := self.run(script, *arguments)):
            assert time.monotonic() < end, f"not true within {seconds} s: {script}"
            time.sleep(0.05)
        return value

    def hover(self, selector):
        """Move the pointer to the middle of an element."""
        self._act(selector, [])

    def click(self, selector):
        """Click an element."""
        self._act(selector, [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])

    def type(self, selector, text):
        """Type into an element."""
        self._send("POST", f"{self.session}/element/{self._element(selector)}/value", {"text": text})

    def picture(self, file):
        """Save what the window shows as PNG."""
        file.write_bytes(base64.b64decode(self._send("GET", f"{self.session}/screenshot")))

    def devtools(self, command, **parameters):
        """A command of Chromium's own protocol."""
        body = {"cmd": command, "params": parameters}
        return self._send("POST", f"{self.session}/goog/cdp/execute", body)

    def violations(self):
        """What axe-core finds on the page with all parts unfolded: rules, each with the first element against it."""
        self.run("for (const folded of document.querySelectorAll('details')) folded.open = true")
        rules = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        self.devtools("Runtime.evaluate", expression=rules)  # the policy of the page lets no other script in
        found: list[list[str]] = self.run_async("""
        const done = arguments[0];
        axe.run(document).then((result) => done(result.violations.map((rule) => [rule.id, rule.nodes[0].html])));
        """)
        return found

    def messages(self):
        """Errors and warnings of the page."""
        return [entry["message"] for entry in self._send("POST", f"{self.session}/se/log", {"type": "browser"})]

    def _element(self, selector):
        body = {"using": "css selector", "value": selector}
        return self._send("POST", f"{self.session}/element", body)[ELEMENT]

    def _act(self, selector, actions):
        element = {ELEMENT: self._element(selector)}
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        move = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": element}
        pointer = {"type": "pointer", "id": "mouse", "actions": [move, *actions]}
        self._send("POST", f"{self.session}/actions", {"actions": [pointer]})

    def _send(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {json.load(error)['value']['message'][:500]}") from None
