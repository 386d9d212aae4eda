"""Credentials stay in the process."""

import os
import threading

import pytest

from bfc_bench.utils.masking import masked, variables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://user:s3cr3t@host:5000/path", "http://***@host:5000/path"),
        ("https://s3cr3t@host", "https://***@host"),
        ("postgresql+psycopg://u:s3/c@r3t@host/db?sslmode=require", "postgresql+psycopg://***@host/db?sslmode=***"),
        ("postgresql:///db?user=u&password=s3cr3t", "postgresql:///db?user=***&password=***"),
        ("got 'http://h/?token=s3cr3t', twice", "got 'http://h/?token=*** twice"),
        ("http://a:s3cr3t@b and http://c:s3cr3t@d", "http://***@b and http://***@d"),
        ("sqlite:////tmp/a@b/mlflow.db", "sqlite:////tmp/a@b/mlflow.db"),
        ("--set task.t.n=[1] mail@host a?b=c", "--set task.t.n=[1] mail@host a?b=c"),
    ],
)
def test_credentials_of_every_address_are_hidden(text, expected):
    assert masked(text) == expected


def test_what_an_error_quotes_apart_is_hidden():
    address = "postgresql://user:pass/w%C3%B6rd@host/db?sslpassword=other"
    told = masked("invalid port 'pass'; FATAL for wörd, w%C3%B6rd, other; user host db", address)
    assert told == "invalid port '***'; FATAL for ***, ***, ***; user host db"


def test_variables_can_be_read_while_others_take_theirs_back(monkeypatch):
    names = [f"BFC_PASSING_{number}" for number in range(50)]
    monkeypatch.setenv("BFC_STAYS", "here")
    ended = threading.Event()

    def come_and_go():
        while not ended.is_set():
            os.environ.update(dict.fromkeys(names, "x"))
            for name in names:
                os.environ.pop(name)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(300):
            assert variables()["BFC_STAYS"] == "here"
    finally:
        ended.set()
        thread.join()
