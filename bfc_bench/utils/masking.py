"""Hides credentials in texts that are stored, logged or printed, and finds environment variables that have any."""

import os
import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import unquote

# Every pattern takes time proportional to the text, which a learner may choose.
_ADDRESS = re.compile(r"[\w+.-]{0,40}:/{2,3}\S+")
_IN_ADDRESS = re.compile(r"([?&;][^=?&;\s]{0,200}=)[^&;\s]+")
_IN_TEXT = re.compile(r"([?&;]([\w.~%-]{1,200})=)([^&;\s\"'<>)]+)")
_MASK = "***"
_LEAST = 6
"""Length from which the value of a variable is hidden wherever it stands: a shorter one is a part of other words."""
_SERVICE = re.compile(r"(MLFLOW|AWS|AZURE|GOOGLE|GCLOUD|DATABRICKS|WANDB)_", re.IGNORECASE)
_SECRET = re.compile(
    r"(^|_)(TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|AUTH|COOKIE|"
    r"CONNECTION_STRING|(API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|ACCOUNT)_?KEY)($|_)",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"(^|_)(KEY|SIG|SIGNATURE)$", re.IGNORECASE)
_WITH_PASSWORD = re.compile(r"://[^/?#\s]*@")


def masked(text: str, *addresses: str) -> str:
    """``text`` without credentials, as ``masker`` hides them."""
    return masker(*addresses)(text)


def masker(*addresses: str) -> Callable[[str], str]:
    """A function that hides the credentials in a text.

    It hides what stands before the host of an address and all values of its query; elsewhere values in ``?name=value``
    whose name says that they are secret; and, wherever they stand, the values of environment variables that are
    credentials and the parts of ``addresses`` that may be, since an error may quote them alone.
    """
    parts = {part for address in addresses for part in _credentials(address)}
    parts.update(*(_secrets(name, value) for name, value in variables().items()))
    ordered = sorted(parts, key=len, reverse=True)

    def mask(text: str) -> str:
        if ":/" in text:
            text = _ADDRESS.sub(lambda match: _masked_address(match[0]), text)
        if "=" in text:
            text = _IN_TEXT.sub(_masked_value, text)
        for part in ordered:
            text = text.replace(part, _MASK)
        return text

    return mask


def is_credential(name: str, value: str) -> bool:
    """Whether an environment variable may be a credential, or lead to one: by its name, or by an address in it."""
    if name in ("PWD", "OLDPWD"):  # the current and the last folder, not passwords
        return False
    return bool(_SERVICE.match(name) or _SECRET.search(name) or _WITH_PASSWORD.search(value))


def variables() -> dict[str, str]:
    """The environment variables, safe against changes by other threads."""
    pairs = ((name, os.environ.get(name)) for name in list(os.environ))
    return {name: value for name, value in pairs if value is not None}


def without_credentials() -> dict[str, str]:
    """The environment variables that are no credentials."""
    return {name: value for name, value in variables().items() if not is_credential(name, value)}


def _masked_address(address: str) -> str:
    scheme, slashes, rest = re.split(r"(:/{2,3})", address, maxsplit=1)
    if "@" in rest and not _is_path(scheme):
        rest = f"{_MASK}@{rest.rpartition('@')[2]}"
    return scheme + slashes + _IN_ADDRESS.sub(rf"\1{_MASK}", rest)


def _masked_value(match: re.Match[str]) -> str:
    name = match[2].replace("-", "_").replace(".", "_")
    return match[1] + _MASK if _SECRET.search(name) or _SIGNATURE.search(name) else match[0]


@lru_cache(maxsize=1024)
def _secrets(name: str, value: str) -> frozenset[str]:
    """What of an environment variable must not be shown: its value if the name says so, and passwords of addresses."""
    if name in ("PWD", "OLDPWD"):
        return frozenset()
    inside = {part for address in _ADDRESS.findall(value) if "@" in address for part in _credentials(address)}
    whole = {value, value.strip()} if _SECRET.search(name) and not value.isdigit() else set()
    return frozenset(part for part in inside | whole if len(part) >= _LEAST)


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
