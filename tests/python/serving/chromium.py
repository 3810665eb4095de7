"""Headless Chromium, told what to do by its pipe for debuggers."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Chromium:
    """A browser with one page."""

    def __init__(self):
        its_input, self._write = os.pipe()
        self._read, its_output = os.pipe()
        self._profile = tempfile.TemporaryDirectory(prefix="amp-chromium-", ignore_cleanup_errors=True)
        command = [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        command += [f"--user-data-dir={self._profile.name}", "about:blank"]
        # The browser reads commands from descriptor 3 and writes to 4.
        shell = f"exec 3<&{its_input} 4>&{its_output}; exec " + " ".join(f"'{word}'" for word in command)
        self._process = subprocess.Popen(
            ["bash", "-c", shell],
            pass_fds=(its_input, its_output),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(its_input)
        os.close(its_output)
        self._rest, self._number, self._session = b"", 0, None
        pages = self._ask("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def open(self, url):
        self._ask("Page.navigate", url=url)
        while not self.evaluate(f"location.href === {json.dumps(url)} && document.readyState === 'complete'"):
            time.sleep(0.02)

    def evaluate(self, script):
        """The value of an expression of JavaScript; promises are awaited."""
        found = self._ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self):
        """PNG"""
        return base64.b64decode(self._ask("Page.captureScreenshot")["data"])

    def _ask(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "result" in answer, answer
        return answer["result"]

    def _next(self):
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)
