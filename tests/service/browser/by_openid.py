"""Sign in on the page through the provider, as somebody would: python by_openid.py ADDRESS [PICTURE].

A process of its own: while Playwright runs, no other test can run a loop. Prints what the browser then knows.
"""

import json
import shutil
import sys

from playwright.sync_api import sync_playwright


def main():
    address, *picture = sys.argv[1:]
    said, seen = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.set_default_timeout(60_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda request: seen.append(request.url.partition("?")[0]))
        page.goto(address)
        page.get_by_role("link", name="Sign in with OpenID").click()
        page.get_by_role("heading", level=1, name="Tables").wait_for()
        top = page.locator("header").inner_text()
        if picture:
            page.screenshot(path=picture[0])
        cookies = page.context.cookies()
        browser.close()
    sys.stdout.write(json.dumps({"top": top, "said": said, "seen": seen, "cookies": cookies}))


if __name__ == "__main__":
    main()
