"""Text from outside on a page that reads Markdown."""

import re

from advisor.text import printable

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: object) -> str:
    """Return text that the page shows as it is: no HTML, link, image, formula, colour or icon can come of it."""
    return _PUNCTUATION.sub(r"\\\1", printable(text))
