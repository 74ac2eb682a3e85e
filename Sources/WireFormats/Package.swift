// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that an app which links the client library resolves neither the server nor libxml2.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "WireFormats",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "WireFormats", targets: ["WireFormats"]),
        // The conformance suite and the generator of values, for authors of a format.
        .library(name: "WireFormatTesting", targets: ["WireFormatTesting"]),
        .library(name: "WireFormatFuzzing", type: .static, targets: ["WireFormatFuzzing"]),
        .executable(name: "wire-differential", targets: ["wire-differential"]),
        .executable(name: "wire-verdict", targets: ["wire-verdict"]),
    ],
    dependencies: [
        .package(path: "../AdapterKit")
    ],
    targets: [
        .target(
            name: "WireFormats",
            dependencies: [.product(name: "AdapterKit", package: "AdapterKit")],
            path: ".",
            exclude: ["Tests", "Conformance", "Drivers"],
            swiftSettings: strict),
        .executableTarget(
            name: "wire-verdict", dependencies: ["WireFormats"], path: "Drivers/Verdict", exclude: ["compare.py"],
            swiftSettings: strict),
        .target(
            name: "WireFormatTesting",
            dependencies: ["WireFormats", .product(name: "AdapterKit", package: "AdapterKit")],
            path: "Conformance",
            swiftSettings: strict),
        .target(
            name: "WireFormatFuzzing",
            dependencies: ["WireFormats", .product(name: "AdapterKit", package: "AdapterKit")],
            path: "Drivers/Fuzz",
            exclude: ["fuzz.sh", "seeds.py"],
            swiftSettings: strict),
        // Mass checks against other implementations; built for release, one process for all values.
        .executableTarget(
            name: "wire-differential",
            dependencies: [
                "WireFormats", "WireFormatTesting", .product(name: "AdapterKit", package: "AdapterKit"),
            ],
            path: "Drivers/Differential",
            exclude: ["compare.py"],
            swiftSettings: strict),
        .testTarget(
            name: "WireFormatsTests",
            dependencies: [
                "WireFormats", "WireFormatTesting", .product(name: "AdapterKit", package: "AdapterKit"),
            ],
            path: "Tests/WireFormatsTests",
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
