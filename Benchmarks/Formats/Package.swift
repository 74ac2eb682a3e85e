// swift-tools-version: 6.2
import PackageDescription

// A package of its own: its peers need C and C++ libraries that nobody else's build should need (.ci/needs, `formats`).
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")
let wireFormats = Target.Dependency.product(name: "WireFormats", package: "WireFormats")

let package = Package(
    name: "FormatBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: "../../Sources/AdapterKit"),
        .package(path: "../../Sources/WireFormats"),
    ],
    targets: [
        .target(
            name: "Shapes", dependencies: [adapterKit, wireFormats], path: "Shapes", swiftSettings: strict),
        .target(
            name: "Peers", path: "Peers",
            cSettings: [.unsafeFlags(["-I/usr/include/libxml2"])],
            // RapidJSON 1.1.0 has a template that assigns to a constant; parsed late, it is never instantiated.
            cxxSettings: [.unsafeFlags(["-fdelayed-template-parsing"])],
            linkerSettings: [.linkedLibrary("simdjson"), .linkedLibrary("plist-2.0"), .linkedLibrary("xml2")]),
        .executableTarget(
            name: "format-bench", dependencies: ["Shapes", "Peers", adapterKit, wireFormats], path: "Bench",
            swiftSettings: strict),
        // Without the peers, so that CI can count its instructions without their libraries.
        .executableTarget(
            name: "format-instructions", dependencies: ["Shapes", adapterKit, wireFormats], path: "Instructions",
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
