// swift-tools-version: 6.2
import PackageDescription

// What an app links. A package of its own, so that an app resolves neither the server nor libxml2.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let valueTree = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")
let wireFormats = Target.Dependency.product(name: "WireFormats", package: "WireFormats")
let syncMessages = Target.Dependency.product(name: "SyncMessages", package: "SyncEngine")
let syncDevice = Target.Dependency.product(name: "SyncDevice", package: "SyncEngine")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")

let package = Package(
    name: "Client",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "Client", targets: ["Client"]),
        // For the simulator, whose devices keep their data as an app does.
        .library(name: "ReplicaStorage", targets: ["ReplicaStorage"]),
    ],
    dependencies: [
        .package(path: "../AdapterKit"),
        .package(path: "../WireFormats"),
        .package(path: "../SyncEngine"),
        // Exact versions, because Package.resolved is not committed.
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .target(
            name: "ReplicaStorage",
            dependencies: [valueTree, wireFormats, syncMessages, syncDevice, grdb, sqlite],
            path: "Storage", swiftSettings: strict),
        .target(
            name: "Client",
            dependencies: ["ReplicaStorage", valueTree, wireFormats, syncMessages, syncDevice, grdb, crypto],
            path: ".",
            exclude: ["Tests", "Storage"],
            swiftSettings: strict),
        .testTarget(
            name: "ClientTests",
            dependencies: [
                "Client", "ReplicaStorage", valueTree, wireFormats, syncMessages, grdb,
                // The gateway's sync engine, in memory.
                .product(name: "RecordStorage", package: "SyncEngine"),
                .product(name: "SyncEngine", package: "SyncEngine"),
                .product(name: "MemoryStore", package: "SyncEngine"),
            ],
            path: "Tests/ClientTests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
