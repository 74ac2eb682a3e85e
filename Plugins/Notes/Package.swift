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
        .library(name: "Notes", type: .dynamic, targets: ["Notes"]),
        // The same adapter as a program of its own.
        .executable(name: "notes-worker", targets: ["NotesWorker"]),
    ],
    dependencies: [
        // In a repository of your own: the path of the Portico checkout that your host is built from.
        .package(path: "../../Sources/AdapterKit"),
        .package(path: "../../Sources/AdapterWorker"),
    ],
    targets: [
        .target(
            name: "Notes", dependencies: [.product(name: "AdapterKit", package: "AdapterKit")],
            swiftSettings: strict),
        .executableTarget(
            name: "NotesWorker", dependencies: ["Notes", .product(name: "AdapterWorker", package: "AdapterWorker")],
            swiftSettings: strict),
        .testTarget(
            name: "NotesTests", dependencies: ["Notes", .product(name: "AdapterKit", package: "AdapterKit")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
