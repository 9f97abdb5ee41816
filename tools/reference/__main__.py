"""``python -m tools.reference`` writes the pages of docs/reference."""

from tools.reference.pages import FOLDER, PAGES


def main() -> None:
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
