#!/usr/bin/env bash
# Writes the pages that come from the package, and builds all pages as a static site in build/site.
# Installs what builds it into an environment of its own, and skips that if it is there. Warnings are errors: links and anchors that lead nowhere, pages that are not listed.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.docs
requirements=('mkdocs>=1.6,<2' 'mkdocs-material>=9.8,<10' 'mkdocstrings>=1,<2' 'mkdocstrings-python>=2,<3' 'mkdocs-htmlproofer-plugin>=1.3,<2' 'mkdocs-redirects>=1.2,<2' 'lunr>=0.8,<1')

if [ "$(cat $venv/installed 2>/dev/null)" != "${requirements[*]}" ]; then
    printf '== installing what builds the site into %s\n' $venv
    .venv/bin/python -m venv --clear $venv
    $venv/bin/python -m pip install --quiet "${requirements[@]}"
    printf '%s\n' "${requirements[*]}" >$venv/installed
fi
.venv/bin/python -m tools.docs.rates
.venv/bin/python -m tools.docs.pictures
.venv/bin/python -m tools.docs.stage
# The theme and a plugin warn about MkDocs 2 at each build unless these are set.
NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $venv/bin/python -m mkdocs build --quiet
.venv/bin/python -m tools.docs.resources
$venv/bin/python -m tools.docs.search
printf 'build/site/index.html\n'
