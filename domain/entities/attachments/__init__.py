"""Fields that hold files: their declaration, the files, and the purposes of uploads."""
