// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that an adapter's package resolves and compiles neither the server nor its dependencies.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "AdapterKit",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "AdapterKit", targets: ["AdapterKit", "ValueTree"])
    ],
    targets: [
        .target(name: "ValueTree", path: "ValueTree", swiftSettings: strict),
        .target(name: "AdapterKit", dependencies: ["ValueTree"], path: "AdapterKit", swiftSettings: strict),
        .testTarget(
            name: "ValueTreeTests", dependencies: ["ValueTree"], path: "Tests/ValueTreeTests", swiftSettings: strict),
        .testTarget(
            name: "AdapterKitTests", dependencies: ["AdapterKit"], path: "Tests/AdapterKitTests",
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
