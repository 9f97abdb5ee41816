"""QR codes as SVG, black on white whatever the page's colours."""


def qr_svg(text: str) -> str:
    """An SVG element without XML declaration, scaled by its container: ``<svg viewBox="0 0 49 49" …>``."""
    import segno  # few requests draw one

    # Error correction M: a phone reads it from a screen, and the address of an app fits a small code.
    made = segno.make(text, error="m", micro=False)
    return made.svg_inline(omitsize=True, dark="#000", light="#fff", border=4)
