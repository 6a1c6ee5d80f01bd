"""show_page.py URL PICTURE [WIDTH HEIGHT]: what Chromium shows of a page, and as JSON its title, its width and what it complains of.

A page whose title is "loading" is waited for.
"""
import json
import sys

from playwright.sync_api import sync_playwright

PATIENCE = 150_000  # milliseconds
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--disable-dev-shm-usage"]


def main():
    url, picture, *size = sys.argv[1:]
    width, height = map(int, size or (700, 520))
    complaints = []
    with sync_playwright() as programs:
        browser = programs.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height})
        page.on("pageerror", lambda error: complaints.append(str(error)[:300]))
        page.on("requestfailed", lambda request: complaints.append(f"{request.url}: {request.failure}"))
        page.on("response", lambda answer: complaints.append(f"{answer.url}: {answer.status}") if answer.status not in (200, 206, 304, 404) else None)
        page.goto(url, timeout=PATIENCE)
        page.wait_for_load_state("networkidle", timeout=PATIENCE)
        page.wait_for_function("document.title !== 'loading'", timeout=PATIENCE)
        page.screenshot(path=picture, full_page=True)
        found = {"title": page.title(), "width": page.evaluate("document.documentElement.scrollWidth"),
                 "pictures": page.evaluate("[...document.images].filter(image => image.naturalWidth > 0).length"), "complaints": complaints}
        browser.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
