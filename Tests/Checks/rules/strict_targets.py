"""Every Swift target of every package turns warnings into errors and the two upcoming features on."""

from violation import Violation

_REQUIRED = {
    ("treatAllWarnings", "error"): "`.treatAllWarnings(as: .error)`",
    ("enableUpcomingFeature", "ExistentialAny"): '`.enableUpcomingFeature("ExistentialAny")`',
    ("enableUpcomingFeature", "MemberImportVisibility"): '`.enableUpcomingFeature("MemberImportVisibility")`',
}


def check(repository):
    for package in repository.packages:
        for target in package.targets:
            if target.language != "SwiftTarget" or target.kind == "plugin":
                continue
            for setting, spelling in _REQUIRED.items():
                if setting not in target.settings:
                    yield Violation(
                        package.manifest, 0, "strict", f"target {target.name} lacks {spelling}")
