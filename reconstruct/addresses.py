"""Which addresses may be fetched: http(s), and nothing inside the user's own network.

URLs come from a release, redirects from servers; neither is trusted. A mirror that the user names
is.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

import requests


def address_problem(url: str, *, allow_private: bool = False) -> str | None:
    """Why a URL may not be fetched, or None.

    Refused are schemes other than http and https, names and passwords in the address, a missing
    host, and hosts that resolve to loopback, private, link-local or other special addresses.
    Behind a proxy the proxy resolves names, so there only literal addresses can be judged.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError as err:
        return f"not a URL: {err}"
    if parts.scheme == "ftp":
        return (
            "ftp is not served any more; PMC files are at "
            "https://pmc-oa-opendata.s3.amazonaws.com (see --resolve-pmc-oa)"
        )
    if parts.scheme not in ("http", "https"):
        return f"scheme {parts.scheme or 'missing'!r}, expected http or https"
    if parts.username is not None or parts.password is not None:
        return "the address holds a user name or password"
    if not host:
        return "the address has no host"
    if allow_private:
        return None
    return _special(host) or (
        None if requests.utils.get_environ_proxies(url) else _resolved_problem(host, port)
    )


def _resolved_problem(host: str, port: int) -> str | None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None  # no such name: the request itself says so, as a network failure
    for *_, address in found:
        problem = _special(str(address[0]))
        if problem:
            return problem
    return None


def _special(host: str) -> str | None:
    try:
        address = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return None  # a name
    mapped = getattr(address, "ipv4_mapped", None)
    if (mapped or address).is_global and not address.is_multicast:
        return None
    return f"{host} is no public address (allow it with --allow-private)"
