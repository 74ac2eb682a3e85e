// swift-tools-version: 6.2
import PackageDescription

// A package of its own: it brings the device, the store's side and the wire formats together, which nothing else does
// without the gateway.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")

let package = Package(
    name: "SyncSimulator",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "SyncSimulator", targets: ["SyncSimulator"]),
        .executable(name: "sync-simulator", targets: ["sync-simulator"]),
    ],
    dependencies: [
        .package(path: "../AdapterKit"),
        .package(path: "../WireFormats"),
        .package(path: "../SyncEngine"),
        .package(path: "../Client"),
    ],
    targets: [
        .target(
            name: "SyncSimulator",
            dependencies: [
                adapterKit,
                .product(name: "WireFormats", package: "WireFormats"),
                .product(name: "RecordStorage", package: "SyncEngine"),
                .product(name: "SyncEngine", package: "SyncEngine"),
                .product(name: "SyncMessages", package: "SyncEngine"),
                .product(name: "SyncDevice", package: "SyncEngine"),
                .product(name: "MemoryStore", package: "SyncEngine"),
                .product(name: "ReplicaStorage", package: "Client"),
            ],
            path: "Simulator", swiftSettings: strict),
        .executableTarget(
            name: "sync-simulator", dependencies: ["SyncSimulator"], path: "Driver", swiftSettings: strict),
        .testTarget(
            name: "SyncSimulatorTests", dependencies: ["SyncSimulator"], path: "Tests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
