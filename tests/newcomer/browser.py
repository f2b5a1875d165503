"""The newcomer's browser, as `xdg-open`: opens a client's login page, logs in, allows, and returns to the client.

python -m tests.newcomer.browser URL
"""

import os
import sys
import urllib.request

from tests.form_browser import FormBrowser

LOGIN = "NEWCOMER_LOGIN"
"""The variable with the user's name and password."""


def main(url: str) -> None:
    name, _, password = os.environ[LOGIN].partition(":")
    back = FormBrowser().approve(url, name, password)
    with urllib.request.urlopen(back, timeout=60) as answer:
        answer.read()


if __name__ == "__main__":
    main(sys.argv[1])
