"""QR codes as SVG, always black on white."""


def qr_svg(text: str) -> str:
    """Return an SVG element without XML declaration, scaled by its container: ``<svg viewBox="0 0 49 49" …>``."""
    import segno  # few requests need it

    # Error correction M: phones can read it from a screen, and the address of an authenticator app fits into a small
    # code.
    made = segno.make(text, error="m", micro=False)
    return made.svg_inline(omitsize=True, dark="#000", light="#fff", border=4)
