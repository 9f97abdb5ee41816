"""Stores of files: a folder, and buckets of object storage services."""
