// swift-tools-version: 6.2
import PackageDescription

// A package of its own: the client library uses its pure parts without the server.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "SyncEngine",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "RecordStorage", targets: ["RecordStorage"]),
        .library(name: "SyncEngine", targets: ["SyncEngine"]),
        .library(name: "RecordEvaluation", targets: ["RecordEvaluation"]),
        .library(name: "SyncMessages", targets: ["SyncMessages"]),
        .library(name: "SyncDevice", targets: ["SyncDevice"]),
    ],
    dependencies: [
        .package(path: "../AdapterKit")
    ],
    targets: [
        .target(
            name: "RecordStorage",
            dependencies: [.product(name: "AdapterKit", package: "AdapterKit")],
            path: "RecordStorage",
            swiftSettings: strict),
        // What filters and queries mean, for stores in memory and as the reference of all others.
        .target(
            name: "RecordEvaluation",
            dependencies: ["RecordStorage", .product(name: "AdapterKit", package: "AdapterKit")],
            path: "RecordEvaluation",
            swiftSettings: strict),
        .target(
            name: "SyncMessages",
            dependencies: [.product(name: "AdapterKit", package: "AdapterKit")],
            path: "SyncMessages",
            swiftSettings: strict),
        .target(
            name: "SyncEngine",
            dependencies: ["RecordStorage", "SyncMessages", .product(name: "AdapterKit", package: "AdapterKit")],
            path: "SyncEngine",
            swiftSettings: strict),
        // What an app links: the device's side, which knows values and messages alone.
        .target(
            name: "SyncDevice",
            dependencies: ["SyncMessages", .product(name: "AdapterKit", package: "AdapterKit")],
            path: "SyncDevice",
            swiftSettings: strict),
        .testTarget(
            name: "SyncDeviceTests",
            dependencies: [
                "SyncDevice", "SyncMessages", .product(name: "AdapterKit", package: "AdapterKit"),
            ],
            path: "Tests/SyncDeviceTests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
