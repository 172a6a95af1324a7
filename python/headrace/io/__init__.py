"""Files and directories: storage, records, compression, tensor bundles."""
