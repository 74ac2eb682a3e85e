"""The SPDX 2.3 document of a release: its files with their digests, and what each of them has inside."""

import json
import re
import uuid

UNKNOWN = "NOASSERTION"


def document(release, files):
    """`files`: the digest (SHA-256) and the components of each file."""
    packages = {}
    relations = []
    for file, (digest, parts) in sorted(files.items()):
        identifier = named("File", file.name)
        packages[identifier] = {
            "SPDXID": identifier, "name": "portico", "versionInfo": release.version, "packageFileName": file.name,
            "downloadLocation": UNKNOWN, "filesAnalyzed": False, "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
            "licenseConcluded": UNKNOWN, "licenseDeclared": "Apache-2.0", "copyrightText": UNKNOWN,
            "sourceInfo": f"built from commit {release.commit}"}
        relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", identifier))
        for part in parts:
            inside = named("Component", f"{part.name}-{part.version or 'unknown'}")
            packages[inside] = component(inside, part)
            relations.append((identifier, "CONTAINS", inside))
    # Made of the contents, so that the same release has the same name.
    space = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([release.version, release.commit, sorted(one[0] for one in files.values())]))
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"portico-{release.version}", "documentNamespace": f"urn:uuid:{space}",
        "creationInfo": {"created": release.time, "creators": ["Organization: The Portico developers", "Tool: Deploy/packages"]},
        "packages": [packages[identifier] for identifier in sorted(packages)],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations]},
        indent=1, sort_keys=True) + "\n"


def component(identifier, part):
    package = {
        "SPDXID": identifier, "name": part.name, "downloadLocation": part.location or UNKNOWN, "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN, "licenseDeclared": part.license or UNKNOWN, "copyrightText": UNKNOWN}
    if part.version:
        package["versionInfo"] = part.version
    if part.package_url:
        package["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": part.package_url}]
    return package


def named(kind, text):
    return f"SPDXRef-{kind}-{re.sub(r'[^A-Za-z0-9.]+', '-', text)}"
