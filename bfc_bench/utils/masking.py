"""Credentials stay in the process: whatever is stored, logged or printed goes through here."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*:/{2,3}\S+")
_MASK = "***"
_SERVICE = re.compile(r"(MLFLOW|AWS|AZURE|GOOGLE|GCLOUD|DATABRICKS|WANDB)_", re.IGNORECASE)
_SECRET = re.compile(
    r"(^|_)(TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|AUTH|COOKIE|"
    r"(API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|ACCOUNT)_?KEY)($|_)",
    re.IGNORECASE,
)
_WITH_PASSWORD = re.compile(r"://[^/?#\s]*@")


def masked(text: str, *addresses: str) -> str:
    """``text`` with the credentials of every address in it hidden: all before the host, and all values of its query.

    Parts of ``addresses`` that may be credentials are hidden wherever they stand: an error may quote them apart.
    """
    text = _ADDRESS.sub(lambda found: _masked_address(found[0]), text)
    for part in sorted({part for address in addresses for part in _credentials(address)}, key=len, reverse=True):
        text = text.replace(part, _MASK)
    return text


def is_credential(name: str, value: str) -> bool:
    """Whether an environment variable is, or may lead to, a credential: by its name, or by an address that has one.

    Those that tell where the user is (``PWD``, ``OLDPWD``) are none.
    """
    if name in ("PWD", "OLDPWD"):
        return False
    return bool(_SERVICE.match(name) or _SECRET.search(name) or _WITH_PASSWORD.search(value))


def variables() -> dict[str, str]:
    """The environment variables, also while another thread takes some back."""
    found = ((name, os.environ.get(name)) for name in list(os.environ))
    return {name: value for name, value in found if value is not None}


def _masked_address(address: str) -> str:
    scheme, slashes, rest = re.split(r"(:/{2,3})", address, maxsplit=1)
    if "@" in rest and not _is_path(scheme):
        rest = f"{_MASK}@{rest.rpartition('@')[2]}"
    return scheme + slashes + re.sub(r"([?&;][^=&;\s]*=)[^&;\s]+", rf"\1{_MASK}", rest)


def _is_path(scheme: str) -> bool:
    """Whether addresses of this scheme name no host and so no user."""
    return scheme.lower().partition("+")[0] in ("sqlite", "file")


def _credentials(address: str) -> set[str]:
    """What follows the user's name before the host, and the values of the query, as they are and decoded.

    Whole and in the parts into which a parser may cut them; shorter than 3 characters they tell nothing.
    """
    scheme, _, rest = address.partition("://")
    before, _, place = ("", "", rest) if _is_path(scheme) else rest.rpartition("@")
    user, colon, password = before.partition(":")
    values = [password if colon else user, *re.findall(r"[?&;][^=&;]*=([^&;]+)", place)]
    parts = {part for value in values for part in (value, *re.split(r"[/:@?#]", value))}
    return {form for part in parts for form in (part, unquote(part)) if len(form) > 2}
