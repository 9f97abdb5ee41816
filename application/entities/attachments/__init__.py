"""Files of rows: uploads, contents, links, and the deletion of unused files."""
