// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "ReplicaBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: "../../Sources/Client"),
        .package(path: "../../Sources/SyncEngine"),
        .package(path: "../../Sources/WireFormats"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "replica-bench",
            dependencies: [
                .product(name: "Client", package: "Client"),
                .product(name: "SyncMessages", package: "SyncEngine"),
                .product(name: "WireFormats", package: "WireFormats"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Bench", swiftSettings: strict)
    ],
    swiftLanguageModes: [.v6]
)
