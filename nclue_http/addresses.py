"""Which addresses may be fetched: http(s), and nothing inside the user's own network.

URLs come from a release, redirects from servers; neither is trusted. A mirror that the user names
is.
"""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

import idna
from requests.utils import get_environ_proxies, select_proxy

_LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NOT_PLAIN = re.compile(r"[^\x21-\x7e]")
_HOST = re.compile(r"[A-Za-z0-9._-]+")
_NUMBER = r"(?:0[xX][0-9A-Fa-f]*|[0-9]+)"
_IPV4_SPELLING = re.compile(rf"{_NUMBER}(?:\.{_NUMBER}){{0,3}}\.?")
# Names that stand for this machine or this network, whoever resolves them (RFC 6761, 6762, 8375).
_LOCAL_NAME = re.compile(
    r"(?:.*\.)?(?:localhost|local|localdomain|internal|home\.arpa|ip6-localhost|ip6-loopback)\.?",
    re.IGNORECASE,
)
# Spelled out, because what Python calls global differs between its versions.
_SPECIAL_V4 = tuple(
    IPv4Network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    )
)  # fmt: skip
_UNICAST_V6 = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    IPv6Network(net)
    for net in ("2001::/23", "2001:db8::/32", "3fff::/20")  # the first holds Teredo
)
_LAST_32 = (IPv6Network("64:ff9b::/96"), IPv6Network("::ffff:0:0/96"))  # NAT64, IPv4-mapped
_6TO4 = IPv6Network("2002::/16")


def canonical_url(url: str) -> str:
    """The URL as it is judged and sent: plain ASCII, one spelling of its host, no fragment.

    Raises:
        ValueError: It is no URL.
    """
    parts = urlsplit(url.strip())
    if not parts.hostname or parts.username is not None or parts.password is not None:
        return url  # nothing that would be asked
    host = _canonical_host(parts.hostname)
    netloc = f"[{host}]" if ":" in host else host
    if parts.port is not None:
        netloc += f":{parts.port}"
    return urlunsplit((parts.scheme, netloc, _quoted(parts.path), _quoted(parts.query), ""))


def _quoted(text: str) -> str:
    """Percent signs that begin nothing, blanks and letters beyond ASCII as ``%XX`` of UTF-8."""
    text = _LONE_PERCENT.sub("%25", text)
    return _NOT_PLAIN.sub(lambda found: quote(found[0], errors="surrogatepass"), text)


def redirect_target(here: str, location: str) -> str:
    """Where a ``Location`` header leads, as browsers read it.

    Args:
        here: What was asked.
        location: The header as `http.client` hands it out: its bytes as Latin-1. Bytes beyond
            ASCII are sent back as they came, whatever their encoding.

    Raises:
        ValueError: It is no address.
    """
    raw = location.strip().encode("latin-1", "replace")
    text = "".join(chr(byte) if 0x20 < byte < 0x7F else f"%{byte:02X}" for byte in raw)
    path, mark, query = text.partition("?")
    return canonical_url(urljoin(here, path.replace("\\", "/") + mark + query))


def _canonical_host(host: str) -> str:
    if ":" in host:
        return host
    name = unquote(host, errors="strict")
    if not name.isascii():
        name = idna.encode(name, uts46=True).decode()
    if not _HOST.fullmatch(name):
        raise ValueError(f"{host!r} is no host name")
    if _IPV4_SPELLING.fullmatch(name):  # 127.1, 0x7f.0.0.1, 2130706433, 127.0.0.1.
        return _dotted(name.rstrip("."))
    return name.lower()


def _dotted(spelling: str) -> str:
    try:
        return socket.inet_ntoa(socket.inet_aton(spelling))
    except OSError:
        raise ValueError(f"{spelling!r} is no IPv4 address") from None


def address_problem(url: str, *, allow_private: bool = False) -> str | None:
    """Why a URL may not be fetched, or None; names are resolved.

    Refused is what `literal_problem` refuses, and hosts that resolve to loopback, private,
    link-local or other special addresses. Behind a proxy the proxy resolves names, so there only
    literal addresses can be judged.
    """
    problem = literal_problem(url, allow_private=allow_private)
    if problem or allow_private or select_proxy(url, get_environ_proxies(url)):
        return problem
    parts = urlsplit(canonical_url(url))
    return _resolved_problem(parts.hostname or "", parts.port or 443)


def literal_problem(url: str, *, allow_private: bool = False) -> str | None:
    """Why a URL may not be fetched, as far as its text tells (nothing is asked), or None.

    Refused are schemes other than http and https, names and passwords in the address, a missing
    host, and loopback, private, link-local or other special addresses in any spelling.
    """
    try:
        parts = urlsplit(canonical_url(url))
        host, _ = parts.hostname, parts.port
    except ValueError as err:
        return f"not a URL: {err}"
    if parts.scheme not in ("http", "https"):
        return f"scheme {parts.scheme or 'missing'!r}, expected http or https"
    if parts.username is not None or parts.password is not None:
        return "the address holds a user name or password"
    if not host:
        return "the address has no host"
    return None if allow_private else peer_problem(host)


def _resolved_problem(host: str, port: int) -> str | None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None  # no such name: the request itself says so, as a network failure
    problems = (peer_problem(str(address[0])) for *_, address in found)
    return next((problem for problem in problems if problem), None)


def peer_problem(host: str) -> str | None:
    """Why a host (its name, or the IP address of a connected peer) may not be asked, or None."""
    try:
        public = is_public(ip_address(host.split("%")[0]))
    except ValueError:  # a name
        public = ":" not in host and not _LOCAL_NAME.fullmatch(host)
    return None if public else f"{host} is no public address"


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is one of the public Internet, also the one that it stands for."""
    if isinstance(address, IPv4Address):
        return not any(address in net for net in _SPECIAL_V4)
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in net for net in _LAST_32):
        return is_public(low)
    if address in _6TO4:
        return is_public(IPv4Address(int(address) >> 80 & 0xFFFFFFFF))
    is_isatap = int(address) >> 32 & 0xFDFFFFFF == 0x5EFE
    special = any(address in net for net in _SPECIAL_V6) or (is_isatap and not is_public(low))
    return address in _UNICAST_V6 and not special
