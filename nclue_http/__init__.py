"""The one way to HTTP: pacing, redirects, waiting as asked, limits of size and time, address rules.

`client` asks (for PDFs, release archives and judges alike), `hosts` keeps the pace, `addresses`
says what may be asked, `connections` looks at whom it reached. `requests` and `urllib3` do the
protocol. pooch, which fetches archives elsewhere, was looked at and left: it bounds neither size
nor time, follows redirects anywhere (from https to http, into private networks), and asks for a
checksum in place of all that; what it adds, a cache by checksum, the kit has in its releases.
"""
