"""The list of components in the format CycloneDX 1.6: ``python -m supply_chain.sbom > sbom.json``."""

import json
import sys
import tomllib
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from supply_chain.locks import ROOT, Package, needs, shipped


def sbom() -> dict[str, Any]:
    """The same for the same locks: no time and no chance is in it."""
    packages = shipped()
    own = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reference = f"pkg:pypi/{own['name']}@{own['version']}"
    content = "\n".join(package.url for package in packages)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, reference + content)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": reference,
                "name": own["name"],
                "version": own["version"],
                "licenses": [{"expression": own["license"]}],
                "purl": reference,
            }
        },
        "components": [_component(package) for package in packages],
        "dependencies": [
            {"ref": reference, "dependsOn": sorted(package.url for package in packages)},
            *_dependencies(packages),
        ],
    }


def _component(package: Package) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.url,
        "name": package.name,
        "version": package.version,
        "purl": package.url,
    }
    if package.licence:
        component["licenses"] = [{"expression": package.licence.strip()}]
    if package.hashes:
        component["hashes"] = [{"alg": "SHA-256", "content": digest} for digest in package.hashes]
    return component


def _dependencies(packages: list[Package]) -> list[dict[str, Any]]:
    urls = {package.name: package.url for package in packages if package.ecosystem == "pypi"}
    return [{"ref": url, "dependsOn": [urls[other] for other in needs(name, set(urls))]} for name, url in urls.items()]


if __name__ == "__main__":
    json.dump(sbom(), sys.stdout, indent=2)
    print()
