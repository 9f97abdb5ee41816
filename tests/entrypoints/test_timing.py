"""``Server-Timing`` of a service as it is started, on real servers."""

import re
import urllib.request

from tests.entrypoints.processes import Serve
from tests.waiting import HUNG_AFTER


def test_a_page_of_a_real_service_says_its_stages(serve: Serve, migrated: dict[str, str]) -> None:
    served = serve(SERVER_TIMING="on", **migrated)
    token = served.log_in(migrated["ADMIN_PASSWORD"])
    request = urllib.request.Request(f"{served.url}/api/products", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=HUNG_AFTER) as answer:
        shown = dict(re.findall(r"([a-z]+);dur=([0-9.]+)", answer.headers["Server-Timing"]))
    assert list(shown) == ["routing", "token", "limits", "work", "database", "total"]
    assert float(shown["database"]) > 0.05
    assert float(shown["limits"]) > 0.02
