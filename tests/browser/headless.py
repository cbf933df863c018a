"""Chromium, driven: pages are opened, clicked and looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)
DESKTOP, PHONE = (1280, 800), (400, 800)
STUCK = 600.0
"""Seconds after which a page hangs: a busy machine is no failure."""


class Browser:
    """Chromium, driven."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str, size: tuple[int, int] = DESKTOP) -> None:
        """Open a page in a window of a size; what the console said before is forgotten."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.resize(size)
        self.driver.get(url)

    def resize(self, size: tuple[int, int]) -> None:
        """Give the page a size, which may be narrower than a window can be."""
        width, height = size
        told = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", told)

    def until(self, condition: Callable[[], Any], seconds: float = STUCK) -> Any:
        """Wait for something to be true and return it."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.5).until(lambda _: condition())

    def find(self, css: str) -> list[Any]:
        """Elements by a CSS selector."""
        return self.driver.find_elements("css selector", css)

    def click(self, element: Any, share: float = 0.5) -> None:
        """Click on an element, this far from its left end."""
        from selenium.webdriver import ActionChains

        aside = round((share - 0.5) * element.size["width"])
        ActionChains(self.driver).move_to_element_with_offset(element, aside, 0).click().perform()

    def slide(self, share: float) -> None:
        """Click on the first slider of the page, this far from its left end."""
        self.click(self.until(lambda: self.find(".mantine-Slider-trackContainer"))[0], share)

    def still(self) -> bytes:
        """The picture once it no longer changes."""
        for close in self.find(".mantine-Notification-closeButton"):
            self.click(close)  # software drawing is slow, it says
        before = [b""]

        def same() -> bytes | None:
            last, before[0] = before[0], self.picture()
            return last if last == before[0] else None

        return self.until(same)

    def picture(self) -> bytes:
        """A PNG of the page."""
        return self.driver.get_screenshot_as_png()

    def errors(self) -> list[str]:
        """What the console calls severe."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]

    def requested(self) -> list[str]:
        """Addresses that the page asked for, beyond itself."""
        script = "return performance.getEntriesByType('resource').map(r => r.name)"
        return [name for name in self.driver.execute_script(script) if name.startswith("http")]
