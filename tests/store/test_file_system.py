"""Which file system a store is on, and what it does there."""

import os

import pytest

from bfc_bench.store.store import Store


@pytest.mark.parametrize("name", ["plain", "Δοκ and a space", os.fsdecode(b"not \xff UTF-8")])
def test_a_disk_that_machines_share_gets_a_rollback_journal_whatever_its_name(name, tmp_path, monkeypatch):
    mount = tmp_path / name
    in_table = os.fsencode(mount).replace(b" ", rb"\040")
    (tmp_path / "mounts").write_bytes(b"36 22 0:42 / %s rw - nfs4 host:/ rw\n" % in_table)
    monkeypatch.setattr("bfc_bench.store.file_system.MOUNTS", tmp_path / "mounts")
    with pytest.warns(UserWarning, match="lies on nfs4, which machines share"), Store(mount / "store", write=True):
        assert not (mount / "store" / "results.sqlite-wal").exists()
    with Store(tmp_path / "local", write=True):
        assert (tmp_path / "local" / "results.sqlite-wal").exists()
