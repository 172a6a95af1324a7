"""The workloads as pipelines: `import headrace as hr`."""
