"""Settings of Sphinx for the documentation site: ``make docs``."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

project = "Tenantry"
copyright = "The Tenantry authors"  # noqa: A001  # Sphinx knows it by this name
release = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)[1]
extensions = ["myst_parser"]
root_doc = "docs/README"
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md"]
exclude_patterns = [".*", "**/node_modules", "site", "dist"]
suppress_warnings = ["misc.highlighting_failure"]  # an answer with … in it is no JSON

myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "Tenantry"
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7db7f0", "color-brand-content": "#7db7f0"},
}

_SECTION = re.compile(r"^## (.+)\n\n((?:- .*\n(?:  .*\n)*)+)", re.MULTILINE)
_PAGE = re.compile(r"^- \[(.+?)\]\((.+?)\.md\)", re.MULTILINE)


def setup(app):
    app.connect("source-read", _with_contents)
    app.connect("build-finished", _with_front)


def _with_contents(_app, name, source):
    """Adds the lists of docs/README.md as the site's contents, so that a list is written once."""
    if name == root_doc:
        source[0] += "".join(_contents(title, _PAGE.findall(text)) for title, text in _SECTION.findall(source[0]))
    elif name == "docs/decisions/README":
        pages = sorted(path.stem for path in (ROOT / "docs" / "decisions").glob("0*.md"))
        source[0] += _contents("", [("", page) for page in pages])


def _contents(title, pages):
    lines = [f"{text} <{page}>" if text else page for text, page in pages]
    caption = f":caption: {title}\n" if title else ""
    return "\n```{toctree}\n:hidden:\n" + caption + "\n" + "\n".join(lines) + "\n```\n"


def _with_front(app, _exception):
    """Writes index.html, where whoever opens the folder begins."""
    front = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={root_doc}.html">'
    (Path(app.outdir) / "index.html").write_text(f'{front}<a href="{root_doc}.html">{project}</a>\n', "utf-8")
