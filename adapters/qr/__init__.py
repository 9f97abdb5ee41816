"""QR codes by segno."""
