#!/usr/bin/env python3
"""Checks a site that is to be read from disk: check.py FOLDER

Every link leads to a file of the site and to an anchor in it, and no page loads anything from the network.
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Page(html.parser.HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") != "canonical":
            self.loads.append(given[LOADED[tag]])


def is_remote(address):
    return address.startswith("//") or urllib.parse.urlparse(address).scheme in ("http", "https")


def problems_of(path, pages):
    page = pages[path]
    for address in page.loads:
        if is_remote(address):
            yield f"loads {address}"
    for address in page.links + page.loads:
        if address.startswith("data:") or is_remote(address):
            continue
        parts = urllib.parse.urlparse(address)
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file():
            yield f"{address}: there is no such file"
        elif target.name == "playground.html":
            continue  # what follows # is a question to it
        elif target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
            yield f"{address}: there is no such anchor"


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    problems = [f"{path.relative_to(site)}: {problem}" for path in pages for problem in problems_of(path, pages)]
    for path in site.rglob("*.css"):
        for address in re.findall(r"url\(\s*['\"]?([^'\")]+)", path.read_text(encoding="utf-8")):
            if is_remote(address):
                problems.append(f"{path.relative_to(site)}: loads {address}")
    print("\n".join(problems) or f"{len(pages)} pages, all links lead somewhere, nothing is loaded from the network")
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
