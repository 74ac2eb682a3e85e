// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "Notes",
    platforms: [.macOS(.v15)],
    products: [
        // The plugin: libNotes.so.
        .library(name: "Notes", type: .dynamic, targets: ["Notes"])
    ],
    dependencies: [
        // In a repository of your own: the path of the Portico checkout that your host is built from.
        .package(path: "../../Sources/AdapterKit")
    ],
    targets: [
        .target(
            name: "Notes", dependencies: [.product(name: "AdapterKit", package: "AdapterKit")],
            swiftSettings: strict),
        .testTarget(
            name: "NotesTests", dependencies: ["Notes", .product(name: "AdapterKit", package: "AdapterKit")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
