"""Stands in for the network: what a server sends, or that there is none."""

from pathlib import Path

import pooch


def serve(monkeypatch, content):
    """Every address has this content; gives the list of those that are asked for."""
    asked = []

    def reply(self, url, output_file, *args, **kwargs):
        asked.append(url)
        Path(output_file).write_bytes(content)

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", reply)
    return asked


def cut_off(monkeypatch):
    """There is no network."""

    def fail(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", fail)
