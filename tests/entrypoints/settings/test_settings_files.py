"""Settings in ``tenantry.toml`` and ``.env``: what is read, who wins, and that a wrong one is named with its file.

docs/settings.md names every variable that there is, and no other.
"""

import re
from pathlib import Path

import pytest

from entrypoints.settings.settings import PROVIDERS, VARIABLES, SettingsError, read_settings
from entrypoints.settings.variables import SECRET_KEY, Secret
from tests.entrypoints.processes import Tenantry

KEY = "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD"


def mistakes(folder: Path, **environment: str) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read_settings({f"TENANTRY_{name}": value for name, value in environment.items()}, folder)
    return caught.value.mistakes


@pytest.mark.promise("declarations, projects: Settings stand in tenantry.toml and .env, and the environment wins")
def test_tenantry_toml_accepts_every_kind_of_value(tmp_path: Path) -> None:
    (tmp_path / "tenantry.toml").write_text(
        'entities = ["tenantry.catalogue", "books.py"]\nport = 9000\nconfirm_email = false\ndocs_title = "Books"\n'
    )
    settings = read_settings({}, tmp_path)
    assert settings.entities == ("tenantry.catalogue", "books.py")
    assert (settings.port, settings.confirm_email, settings.docs_title) == (9000, False, "Books")
    assert settings.base_url == "http://127.0.0.1:9000"


@pytest.mark.parametrize("name", ["tenantry.toml", ".env"])
def test_a_folder_or_a_dead_link_in_place_of_a_settings_file_is_reported(tmp_path: Path, name: str) -> None:
    """A container engine makes a folder of a file that is mounted and not there."""
    (tmp_path / name).mkdir()
    assert mistakes(tmp_path) == (f"{name} is a folder; put a file with settings in its place, or remove it.",)
    (tmp_path / name).rmdir()
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    assert mistakes(tmp_path) == (f"{name} is a link to nothing; put a file with settings in its place, or remove it.",)


def test_an_environment_of_python_may_be_called_as_the_file_is(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    (tmp_path / ".env" / "pyvenv.cfg").touch()
    assert read_settings({}, tmp_path).port == 8000


@pytest.mark.promise("declarations, projects: Settings stand in tenantry.toml and .env, and the environment wins")
def test_the_environment_wins_then_dotenv_then_toml(tmp_path: Path) -> None:
    (tmp_path / "tenantry.toml").write_text('port = 9000\nworkers = 2\ndocs_title = "Toml"\n')
    (tmp_path / ".env").write_text("TENANTRY_PORT=9001\nTENANTRY_WORKERS=3\n")
    settings = read_settings({"TENANTRY_PORT": "9002", "TENANTRY_DOCS_TITLE": " "}, tmp_path)
    assert (settings.port, settings.workers, settings.docs_title) == (9002, 3, "Toml")


@pytest.mark.promise("declarations, projects: Settings stand in tenantry.toml and .env, and the environment wins")
@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("TENANTRY_DOCS_TITLE=Books", "Books"),
        ("export TENANTRY_DOCS_TITLE = Books and films # of ours", "Books and films"),
        ('TENANTRY_DOCS_TITLE="Books # films" # of ours', "Books # films"),
        ("TENANTRY_DOCS_TITLE='Books = films'", "Books = films"),
        ("TENANTRY_DOCS_TITLE=", "Tenantry"),
        ("TENANTRY_DOCS_TITLE= # ours", "Tenantry"),
        ("TENANTRY_DOCS_TITLE=Books\t# ours", "Books"),
        ("TENANTRY_DOCS_TITLE=C#", "C#"),
    ],
)
def test_lines_of_dotenv(tmp_path: Path, line: str, title: str) -> None:
    (tmp_path / ".env").write_text(f"# ours\n\nPOSTGRES_PASSWORD=of somebody else\nOTHER\n{line}\n")
    assert read_settings({}, tmp_path).docs_title == title


def test_an_unknown_key_in_a_settings_file_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "tenantry.toml").write_text('entites = ["books.py"]\nTENANTRY_PORT = 1\ncolour = "red"\n')
    (tmp_path / ".env").write_text("TENANTRY_WORKRES=2\n")
    assert mistakes(tmp_path) == (
        ".env: TENANTRY_WORKRES is not a setting; did you mean TENANTRY_WORKERS?",
        "tenantry.toml: TENANTRY_PORT is not a setting; did you mean port?",
        "tenantry.toml: colour is not a setting.",
        "tenantry.toml: entites is not a setting; did you mean entities?",
    )


def test_a_wrong_value_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "tenantry.toml").write_text("port = 0\nworkers = 1.5\nlog_level = { a = 1 }\n")
    (tmp_path / ".env").write_text(f'TENANTRY_SECRET_KEY=short\nTENANTRY_DOCS_TITLE="open\nTENANTRY_MIGRATE\n# {KEY}\n')
    assert mistakes(tmp_path, CONFIRM_EMAIL="never") == (
        f".env: TENANTRY_SECRET_KEY got 5 characters (not shown); it must be {SECRET_KEY.takes}.",
        ".env: line 2 sets TENANTRY_DOCS_TITLE to nothing that can be read: write TENANTRY_DOCS_TITLE=value.",
        ".env: line 3 sets TENANTRY_MIGRATE to nothing that can be read: write TENANTRY_MIGRATE=value.",
        "TENANTRY_CONFIRM_EMAIL got 'never'; it must be true or false.",
        "tenantry.toml: TENANTRY_PORT got '0'; it must be a whole number from 1 to 65535.",
        "tenantry.toml: log_level got {'a': 1}; it must be a text, a number, true, false or a list of texts.",
        "tenantry.toml: workers got 1.5; it must be a text, a number, true, false or a list of texts.",
    )


@pytest.mark.promise("security, secrets: Secrets come from files, with clear errors; no message shows a secret")
def test_a_secret_of_a_wrong_type_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "tenantry.toml").write_text('secret_key = 12.5\nmetrics_token = { hidden = "hidden" }\n')
    told = mistakes(tmp_path)
    assert [line.partition(" got ")[2].partition(";")[0] for line in told] == [
        "a dict (not shown)",
        "a float (not shown)",
    ]


@pytest.mark.promise("security, secrets: Secrets come from files, with clear errors; no message shows a secret")
def test_secrets_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    (tmp_path / "url").write_text("postgresql://u:p@h/d\r\n")
    (tmp_path / "tenantry.toml").write_text(f'database_url_file = "{tmp_path / "url"}"\n')
    settings = read_settings({"TENANTRY_SECRET_KEY_FILE": str(tmp_path / "key")}, tmp_path)
    assert settings.secret_key == Secret(KEY)
    assert settings.database_url == Secret("postgresql://u:p@h/d")


@pytest.mark.promise("security, secrets: Secrets come from files, with clear errors; no message shows a secret")
def test_files_of_secrets_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "bytes").write_bytes(b"\xff" * 40)
    (tmp_path / "short").write_text("hidden")
    assert mistakes(
        tmp_path,
        SECRET_KEY_FILE=str(tmp_path / "short"),
        METRICS_TOKEN_FILE=str(tmp_path / "missing"),
        SMTP_URL_FILE=str(tmp_path),
        REDIS_URL_FILE=str(tmp_path / "empty"),
        OTHER_SECRET_KEY_FILE=str(tmp_path / "bytes"),
        ADMIN_PASSWORD_FILE="beside",
        ADMIN_PASSWORD="correct horse",
        PORT_FILE="/run/port",
    ) == (
        "TENANTRY_ADMIN_PASSWORD_FILE is set beside TENANTRY_ADMIN_PASSWORD: set one of them.",
        f"TENANTRY_METRICS_TOKEN_FILE: {tmp_path / 'missing'} cannot be read: No such file or directory.",
        f"TENANTRY_OTHER_SECRET_KEY_FILE: {tmp_path / 'bytes'} is not UTF-8.",
        "TENANTRY_PORT_FILE is not a setting; did you mean TENANTRY_PORT?",
        f"TENANTRY_REDIS_URL_FILE: {tmp_path / 'empty'} is empty.",
        f"TENANTRY_SECRET_KEY got 6 characters (not shown); it must be {SECRET_KEY.takes}.",
        f"TENANTRY_SMTP_URL_FILE: {tmp_path} cannot be read: Is a directory.",
    )


def test_a_file_that_the_system_does_not_read_is_a_sentence(tmp_path: Path) -> None:
    for name in (".env", "tenantry.toml"):
        (tmp_path / name).symlink_to("/proc/self/mem")  # root, as whom tests may run, may read every other file
    assert mistakes(tmp_path) == (
        ".env cannot be read: Input/output error.",
        "tenantry.toml cannot be read: Input/output error.",
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "tenantry.toml").write_text("port =\n")
    (tmp_path / ".env").write_bytes(b"TENANTRY_PORT=\xff\n")
    told = mistakes(tmp_path)
    assert [line.partition(":")[0] for line in told] == [".env is not UTF-8.", "tenantry.toml is not valid TOML"]


@pytest.mark.promise("declarations, projects: a new terminal knows the entities of the file")
def test_the_command_line_knows_the_entities_of_the_file(tmp_path: Path, tenantry: Tenantry) -> None:
    (tmp_path / "tenantry.toml").write_text('entities = ["books.py"]\n')
    (tmp_path / "books.py").write_text(
        "from msgspec import Struct\nfrom tenantry import entity\n\n\n"
        '@entity("books")\nclass Book(Struct):\n    title: str\n\n\nENTITIES = (Book,)\n'
    )
    told = tenantry("entities")
    assert told.returncode == 0, told.stderr
    assert "/api/books" in told.stdout
    assert "/api/products" not in told.stdout
    (tmp_path / "tenantry.toml").write_text('entites = ["books.py"]\n')
    refused = tenantry("entities")
    assert (refused.returncode, "did you mean entities?" in refused.stderr) == (2, True)


PAGE = Path(__file__).resolve().parents[3] / "docs" / "settings.md"


def test_the_page_and_the_settings_name_the_same_variables() -> None:
    first_cells = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    written = {name for cell in first_cells for name in re.findall(r"`([A-Z_{}]+)`", cell)}
    each = {name.replace("{PROVIDER}", provider.upper()) for name in written for provider in PROVIDERS}
    assert each == set(VARIABLES)
