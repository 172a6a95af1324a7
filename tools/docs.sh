#!/usr/bin/env bash
# Writes the pages that are generated from the package, and builds all pages as a static site in build/site.
# The tools are installed into their own environment on the first run. Warnings are errors, for example broken links and anchors,
# and pages that are missing from the navigation. (`--quiet` would hide warnings from MkDocs' strict mode.)
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.docs
requirements=('mkdocs>=1.6,<2' 'mkdocs-material>=9.8,<10' 'mkdocstrings>=1,<2' 'mkdocstrings-python>=2,<3' 'mkdocs-htmlproofer-plugin>=1.3,<2' 'mkdocs-redirects>=1.2,<2' 'lunr>=0.8,<1')

if [ "$(cat $venv/installed 2>/dev/null)" != "${requirements[*]}" ]; then
    printf '== installing the tools that build the site into %s\n' $venv
    .venv/bin/python -m venv --clear $venv
    $venv/bin/python -m pip install --quiet "${requirements[@]}"
    printf '%s\n' "${requirements[*]}" >$venv/installed
fi
.venv/bin/python -m tools.docs.rates
.venv/bin/python -m tools.docs.pictures
.venv/bin/python -m tools.docs.stage
# Without these variables, the theme and a plugin warn about MkDocs 2 at each build.
NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $venv/bin/python -m mkdocs build
.venv/bin/python -m tools.docs.resources
$venv/bin/python -m tools.docs.search
printf 'build/site/index.html\n'
