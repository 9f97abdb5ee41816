"""Settings with addresses that cannot be taken apart: a sentence, wherever they are read later."""

import pytest

from entrypoints.settings.settings import VARIABLES, SettingsError, read_settings

KEY = "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD"

BROKEN = (
    "https://[", "http://[::1", "http://[a:b]", "https://host:port", "https://host:99999", "https://\u2100.example",
    "postgresql://[", "postgresql://h:1,[:2/d", "postgresql://h:1,h2]:2/d", "postgresql://h:1,h2:port/d",
    "postgresql:///d?host=/run&port=five", "postgresql://h/d?target_session_attrs=none",
    "redis://[", "redis://h:99999", "redis+cluster://[", "redis+sentinel://h:port/name",
    "smtp://[", "smtp://h:port", "smtps://h:99999", "[", "a:b", "::1]",
)  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_no_setting_takes_an_address_that_cannot_be_taken_apart(broken: str) -> None:
    addresses = [name for name in VARIABLES if name.endswith(("_URL", "_URLS", "_ORIGINS", "HOST"))]
    assert len(addresses) > 12
    for name in addresses:
        with pytest.raises(SettingsError) as refused:
            read_settings({"TENANTRY_SECRET_KEY": KEY, f"TENANTRY_{name}": broken})
        assert any(mistake.startswith(f"TENANTRY_{name} got ") for mistake in refused.value.mistakes)
