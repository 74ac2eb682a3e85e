"""An image of a container as an OCI layout in a tar file, written without an engine: the tree, the C library, certificates of
authorities and time zones. There is no shell in it. `docker load`, `podman load` and `skopeo copy oci-archive:` take it.
"""

import gzip
import hashlib
import json
import pathlib
import re
import shutil
import subprocess

import archive
from system_libraries import debian_component

USER = 10001
BASE = ["libc6", "ca-certificates", "tzdata"]
OCI = {"amd64": "amd64", "arm64": "arm64"}
LIBRARY = re.compile(r"(?:/usr)?/lib(?:64)?/(?:[a-z0-9_]+-linux-gnu/)?[^/]+\.so[.\d]*")


def write(release, tree, output, work):
    """The file, and what of Debian is in it beside the tree."""
    root = work / "image"
    lay_out(root, tree)
    layer = work / "layer.tar.gz"
    owners = {"var/lib/portico": (USER, USER, 0o700), "tmp": (0, 0, 0o1777)}
    archive.write(root, layer, release.epoch, owners=owners)
    with gzip.open(layer) as plain:
        content = hashlib.file_digest(plain, "sha256").hexdigest()
    folder = work / "layout"
    file = output / f"portico-{release.version}-image.tar"
    lay_out_image(folder, release, layer, content)
    archive.write(folder, file, release.epoch)
    return file, [debian_component(name) for name in BASE]


def lay_out(root, tree):
    shutil.copytree(tree, root / "opt/portico", symlinks=True)
    for folder in ["etc/portico", "etc/ssl/certs", "proc", "sys", "dev", "tmp", "run", "var/lib/portico", "usr/lib", "usr/lib64"]:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name in ["lib", "lib64"]:
        (root / name).symlink_to(f"usr/{name}")
    for path in listed("libc6"):
        if LIBRARY.fullmatch(path):
            copy(path, root)
    for path in listed("tzdata"):
        if path.startswith("/usr/share/zoneinfo/") and not path.startswith(("/usr/share/zoneinfo/right/", "/usr/share/zoneinfo/posix/")):
            copy(path, root)
    for package in BASE:
        copy(f"/usr/share/doc/{package}/copyright", root)
    authorities = [path for path in listed("ca-certificates") if path.endswith(".crt")]
    (root / "etc/ssl/certs/ca-certificates.crt").write_text("".join(pathlib.Path(path).read_text() for path in authorities))
    (root / "etc/passwd").write_text(f"root:x:0:0::/:/\nportico:x:{USER}:{USER}::/var/lib/portico:/\n")
    (root / "etc/group").write_text(f"root:x:0:\nportico:x:{USER}:\n")
    (root / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")


def listed(package):
    done = subprocess.run(["dpkg-query", "--listfiles", package], check=True, capture_output=True, text=True)
    return sorted(path for path in done.stdout.splitlines() if pathlib.Path(path).is_file())


def copy(path, root):
    target = root / (path.lstrip("/") if path.startswith("/usr/") else f"usr{path}")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target, follow_symlinks=False)


def lay_out_image(folder, release, layer, content):
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)

    def add(data):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    def encoded(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    layer_blob = add(layer.read_bytes())
    configuration = add(encoded({
        "architecture": OCI[release.debian_architecture], "os": "linux", "created": release.time,
        "config": {
            "User": f"{USER}:{USER}", "WorkingDir": "/", "StopSignal": "SIGTERM",
            "Env": ["PATH=/opt/portico/bin", "SWIFT_BACKTRACE=enable=no"],
            "Entrypoint": ["portico"],
            "Cmd": ["serve", "--config", "/etc/portico/portico.yaml", "--data", "/var/lib/portico"],
            "ExposedPorts": {"8080/tcp": {}}, "Volumes": {"/var/lib/portico": {}},
            # Engines that know health checks take it; porticoctl asks over the admin socket. In nanoseconds.
            "Healthcheck": {
                "Test": ["CMD", "porticoctl", "status", "--data", "/var/lib/portico"],
                "Interval": 10 * 10**9, "Timeout": 3 * 10**9, "StartPeriod": 5 * 10**9},
            "Labels": {
                "org.opencontainers.image.title": "portico", "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.revision": release.commit, "org.opencontainers.image.licenses": "Apache-2.0"}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{content}"]},
        "history": [{"created": release.time, "created_by": "Deploy/packages"}]}))
    manifest = add(encoded({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **configuration},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **layer_blob}]}))
    (folder / "oci-layout").write_bytes(encoded({"imageLayoutVersion": "1.0.0"}))
    (folder / "index.json").write_bytes(encoded({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json", **manifest,
            "annotations": {"org.opencontainers.image.ref.name": release.version},
            "platform": {"architecture": OCI[release.debian_architecture], "os": "linux"}}]}))
    # What engines read that do not know OCI layouts.
    def path(blob):
        return f"blobs/sha256/{blob['digest'].removeprefix('sha256:')}"

    (folder / "manifest.json").write_bytes(encoded([{
        "Config": path(configuration), "RepoTags": [f"portico:{release.version}"], "Layers": [path(layer_blob)]}]))
