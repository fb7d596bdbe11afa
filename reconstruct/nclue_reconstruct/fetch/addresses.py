"""Which addresses may be fetched: http(s), and nothing inside the user's own network.

URLs come from a release, redirects from servers; neither is trusted. A mirror that the user names
is.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from requests.utils import get_environ_proxies


def address_problem(url: str, *, allow_private: bool = False) -> str | None:
    """Why a URL may not be fetched, or None; names are resolved.

    Refused is what `literal_problem` refuses, and hosts that resolve to loopback, private,
    link-local or other special addresses. Behind a proxy the proxy resolves names, so there only
    literal addresses can be judged.
    """
    problem = literal_problem(url, allow_private=allow_private)
    if problem or allow_private or get_environ_proxies(url):
        return problem
    parts = urlsplit(url)
    return _resolved_problem(parts.hostname or "", parts.port or 443)


def literal_problem(url: str, *, allow_private: bool = False) -> str | None:
    """Why a URL may not be fetched, as far as its text tells (nothing is asked), or None.

    Refused are schemes other than http and https, names and passwords in the address, a missing
    host, and loopback, private, link-local or other special addresses.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
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
    return None if allow_private else _special(host)


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


def peer_problem(address: str) -> str | None:
    """Why the IP address of a connected peer may not be asked, or None."""
    return _special(address)


def _special(host: str) -> str | None:
    try:
        address = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return None  # a name
    inner = _inner(address)
    if inner.is_global and not inner.is_multicast:
        return None
    return f"{host} is no public address (allow it with --allow-private)"


def _inner(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address that some IPv6 addresses stand for."""
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or address.sixtofour or address
    return address
