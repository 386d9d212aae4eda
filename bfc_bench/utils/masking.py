"""Hides credentials in texts that are stored, logged or printed, and finds environment variables that have any."""

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
    """``text`` without the credentials of addresses in it: everything before the host, and all values of the query.

    Parts of ``addresses`` that may be credentials are hidden anywhere in ``text``, since an error may quote them alone.
    """
    text = _ADDRESS.sub(lambda match: _masked_address(match[0]), text)
    for part in sorted({part for address in addresses for part in _credentials(address)}, key=len, reverse=True):
        text = text.replace(part, _MASK)
    return text


def is_credential(name: str, value: str) -> bool:
    """Whether an environment variable may be a credential, or lead to one: by its name, or by an address in it."""
    if name in ("PWD", "OLDPWD"):  # the current and the last folder, not passwords
        return False
    return bool(_SERVICE.match(name) or _SECRET.search(name) or _WITH_PASSWORD.search(value))


def variables() -> dict[str, str]:
    """The environment variables, safe against changes by other threads."""
    pairs = ((name, os.environ.get(name)) for name in list(os.environ))
    return {name: value for name, value in pairs if value is not None}


def _masked_address(address: str) -> str:
    scheme, slashes, rest = re.split(r"(:/{2,3})", address, maxsplit=1)
    if "@" in rest and not _is_path(scheme):
        rest = f"{_MASK}@{rest.rpartition('@')[2]}"
    return scheme + slashes + re.sub(r"([?&;][^=&;\s]*=)[^&;\s]+", rf"\1{_MASK}", rest)


def _is_path(scheme: str) -> bool:
    """Whether addresses of this scheme are paths, without host and user."""
    return scheme.lower().partition("+")[0] in ("sqlite", "file")


def _credentials(address: str) -> set[str]:
    """Possible credentials of an address: the password, else the user, and the values of the query.

    Whole and in the parts into which a parser may split them, quoted and unquoted, from 3 characters on.
    """
    scheme, _, rest = address.partition("://")
    before, _, place = ("", "", rest) if _is_path(scheme) else rest.rpartition("@")
    user, colon, password = before.partition(":")
    values = [password if colon else user, *re.findall(r"[?&;][^=&;]*=([^&;]+)", place)]
    parts = {part for value in values for part in (value, *re.split(r"[/:@?#]", value))}
    return {form for part in parts for form in (part, unquote(part)) if len(form) > 2}
