"""A server on this machine that answers huggingface_hub as the Hugging Face hub does: data sets, as far as needed.

It checks what is sent (token, digests of large files, metadata of cards) and keeps the files of every commit.
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

TOKEN = "hf_ThisIsASecret"
LARGE = (".parquet",)
LICENCES = ("cc-by-4.0", "cc0-1.0", "mit", "apache-2.0")


class Refusal(Exception):
    def __init__(self, status: int, text: str, code: str = "") -> None:
        super().__init__(text)
        self.status, self.code = status, code


class Repository:
    """A data set: the files of its commits, and the commits of its branches."""

    def __init__(self, private: bool) -> None:
        self.private = private
        self.commits: dict[str, dict[str, bytes]] = {}
        self.messages: list[dict] = []
        self.heads: dict[str, str] = {}
        self.commit("main", {".gitattributes": b"*.parquet filter=lfs\n"})

    def commit(self, branch: str, files: dict[str, bytes]) -> str:
        sha = hashlib.sha1(repr((branch, sorted(files.items()), len(self.commits))).encode()).hexdigest()
        self.commits[sha], self.heads[branch] = dict(files), sha
        return sha

    def sha(self, revision: str) -> str:
        found = self.heads.get(revision, revision)
        if found not in self.commits:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return found

    def at(self, revision: str = "main") -> dict[str, bytes]:
        return self.commits[self.sha(revision)]


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, Repository] = {}
        self.large: dict[str, bytes] = {}
        self.writable = ("ada",)
        self.faults: dict[str, int] = {}
        """Status by a part of the path: what is asked there fails."""
        self.meanwhile: Callable[[], object] = lambda: None
        """What happens while files are sent."""
        self.requests: list[str] = []
        self.locked = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *arguments) -> None:
        pass

    def answer(self) -> None:
        address = urlsplit(self.path)
        self.query = parse_qs(address.query)
        path = unquote(address.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.locked:
            self.server.requests.append(f"{self.command} {path}")
            try:
                for part, status in self.server.faults.items():
                    if part in path:
                        raise Refusal(status, "a fault of the test")
                for method, pattern, function in ROUTES:
                    if method == self.command and (match := re.fullmatch(pattern, path)):
                        status, headers, body = function(self, content, *match.groups())
                        break
                else:
                    raise Refusal(404, f"no {self.command} {path}")
            except Refusal as refusal:
                status, body = refusal.status, {"error": str(refusal)}
                headers = {"X-Error-Message": str(refusal), **({"X-Error-Code": refusal.code} if refusal.code else {})}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), "Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_HEAD = answer

    def may(self, owner: str = "", proposes: bool = False) -> None:
        """Refuse a wrong token, and one that may not write for the owner."""
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refusal(401, "Invalid credentials in Authorization header")
        if owner and owner not in self.server.writable and not proposes:
            raise Refusal(403, f"You don't have the rights to write to {owner}")

    def repository(self, name: str) -> Repository:
        found = self.server.repositories.get(name)
        if found is None or (found.private and self.headers.get("Authorization") != f"Bearer {TOKEN}"):
            raise Refusal(404, "Repository not found", "RepoNotFound")
        return found

    def create(self, content: bytes):
        asked = json.loads(content)
        self.may(asked["organization"])
        name = f"{asked['organization']}/{asked['name']}"
        assert asked["type"] == "dataset"
        made = {"url": f"{self.server.address}/datasets/{name}", "name": name, "id": "1"}
        if name in self.server.repositories:
            return 409, {}, {**made, "error": "You already created this dataset repo"}
        private = asked.get("visibility") == "private" or asked.get("private") is True
        self.server.repositories[name] = Repository(private)
        return 200, {}, made

    def check_card(self, content: bytes):
        asked = json.loads(content)
        assert asked["repoType"] == "dataset"
        front = yaml.safe_load(asked["content"].split("---")[1])
        errors = [] if front["license"] in LICENCES else [{"message": f'"license" must be one of {LICENCES}'}]
        if not all(isinstance(one["config_name"], str) and one["data_files"] for one in front["configs"]):
            errors.append({"message": '"configs" is wrong'})
        return 400 if errors else 200, {}, {"errors": errors, "warnings": []}

    def info(self, _: bytes, name: str, revision: str | None):
        found = self.repository(name)
        sha = found.sha(revision or "main")
        siblings = [{"rfilename": file} for file in found.at(sha)]
        return 200, {}, {"_id": "1", "id": name, "sha": sha, "private": found.private, "siblings": siblings, "tags": []}

    def tree(self, _: bytes, name: str, revision: str, folder: str | None):
        """What is in a folder; with ``recursive``, also what is in the folders in it."""
        inside, found = f"{folder}/" if folder else "", []
        for file, content in self.repository(name).at(revision).items():
            if file.startswith(inside):
                found.append({"type": "file", "path": file, "size": len(content), "oid": blob(content)})
                found[-1] |= large(file, content)
        if self.query.get("recursive", ["false"])[0].lower() not in ("1", "true"):
            found = [one for one in found if "/" not in one["path"].removeprefix(inside)]
        if folder and not found:
            raise Refusal(404, f"{folder} does not exist", "EntryNotFound")
        return 200, {}, found

    def branch(self, _: bytes, owner: str, name: str, branch: str):
        self.may(owner)
        found = self.repository(f"{owner}/{name}")
        if branch in found.heads:
            raise Refusal(409, "Reference already exists")
        found.heads[branch] = found.heads["main"]
        return 200, {}, {}

    def preupload(self, content: bytes, owner: str, name: str, revision: str):
        self.may(owner, "create_pr" in self.query)
        self.server.meanwhile()
        there = self.repository(f"{owner}/{name}").at(revision)
        answer = []
        for file in json.loads(content)["files"]:
            assert len(base64.b64decode(file["sample"])) == min(file["size"], 512)
            mode = "lfs" if file["path"].endswith(LARGE) else "regular"
            oid = {"oid": blob(there[file["path"]])} if file["path"] in there and mode == "regular" else {}
            answer.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, **oid})
        return 200, {}, {"files": answer}

    def batch(self, content: bytes, owner: str, name: str):
        self.may()
        asked = json.loads(content)
        assert asked["operation"] == "upload"
        objects = []
        for one in asked["objects"]:
            target = {"upload": {"href": f"{self.server.address}/large/{one['oid']}"}}
            objects.append({**one, **({} if one["oid"] in self.server.large else {"actions": target})})
        return 200, {"Content-Type": "application/vnd.git-lfs+json"}, {"transfer": "basic", "objects": objects}

    def put(self, content: bytes, oid: str):
        assert hashlib.sha256(content).hexdigest() == oid
        assert "Authorization" not in self.headers  # the storage is another service, which must not see the token
        self.server.large[oid] = content
        return 200, {}, b""

    def commit(self, content: bytes, owner: str, name: str, revision: str):
        proposes = "create_pr" in self.query
        self.may(owner, proposes)
        found = self.repository(f"{owner}/{name}")
        files = dict(found.at(revision))
        header, *operations = map(json.loads, content.splitlines())
        assert header["key"] == "header"
        if header["value"].get("parentCommit", found.sha(revision)) != found.sha(revision):
            raise Refusal(412, "A commit has happened since")
        for operation in operations:
            value = operation["value"]
            match operation["key"]:
                case "file":
                    assert value["encoding"] == "base64"
                    files[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    files[value["path"]] = self.server.large[value["oid"]]
                    assert len(files[value["path"]]) == value["size"]
                case "deletedFile":
                    del files[value["path"]]
                case other:
                    raise Refusal(400, f"unknown operation {other}")
        found.messages.append(header["value"])
        sha = found.commit("refs/pr/1" if proposes else revision, files)
        at = f"{self.server.address}/datasets/{owner}/{name}"
        pull = {"pullRequestUrl": f"{at}/discussions/1"} if proposes else {}
        return 200, {}, {"success": True, "commitOid": sha, "commitUrl": f"{at}/commit/{sha}", **pull}

    def resolve(self, _: bytes, name: str, revision: str, file: str):
        found = self.repository(name)
        sha = found.sha(revision)
        if file not in found.at(sha):
            raise Refusal(404, "Entry not found", "EntryNotFound")
        content = found.at(sha)[file]
        etag = hashlib.sha256(content).hexdigest() if file.endswith(LARGE) else blob(content)
        kind = {"Content-Type": "application/octet-stream", "ETag": f'"{etag}"', "X-Repo-Commit": sha}
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if asked:
            last = min(int(asked[2] or len(content) - 1), len(content) - 1)
            part = content[int(asked[1]) : last + 1]
            return 206, {**kind, "Content-Range": f"bytes {asked[1]}-{last}/{len(content)}"}, part
        return 200, kind, content


NAME = r"([^/]+/[^/]+)"
OWNED = r"([^/]+)/([^/]+)"
ROUTES = (
    ("POST", "/api/repos/create", Handler.create),
    ("POST", "/api/validate-yaml", Handler.check_card),
    ("GET", rf"/api/datasets/{NAME}(?:/revision/(.+))?", Handler.info),
    ("GET", rf"/api/datasets/{NAME}/tree/(refs/pr/1|[^/]+)(?:/(.+))?", Handler.tree),
    ("POST", rf"/api/datasets/{OWNED}/branch/(.+)", Handler.branch),
    ("POST", rf"/api/datasets/{OWNED}/preupload/(.+)", Handler.preupload),
    ("POST", rf"/datasets/{OWNED}\.git/info/lfs/objects/batch", Handler.batch),
    ("PUT", r"/large/(\w+)", Handler.put),
    ("POST", rf"/api/datasets/{OWNED}/commit/(.+)", Handler.commit),
    *((method, rf"/datasets/{NAME}/resolve/(refs/pr/1|[^/]+)/(.+)", Handler.resolve) for method in ("GET", "HEAD")),
)


def blob(content: bytes) -> str:
    """The id that git gives a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def large(file: str, content: bytes) -> dict:
    if not file.endswith(LARGE):
        return {}
    digest = hashlib.sha256(content).hexdigest()
    return {"lfs": {"oid": digest, "size": len(content), "pointerSize": 130}}


@contextmanager
def hub() -> Iterator[Hub]:
    """A server that runs in a thread."""
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
