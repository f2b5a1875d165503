"""Opens the user's browser."""

import os
import sys


def open_browser(url: str) -> None:
    """Open the browser if there is a desktop: in a bare terminal, a text browser would take over the screen."""
    import threading
    import webbrowser

    has_windows = sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if has_windows and sys.stdout.isatty() and url.startswith(("http://", "https://")):
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
