// swift-tools-version: 6.2
import PackageDescription

// A package of its own: inside AdapterKit's, a test that uses it linked a second copy of AdapterKit into the host.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")

let package = Package(
    name: "AdapterTesting",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "AdapterTesting", targets: ["AdapterTesting"]),
        // For the host, which records, replays and injects faults by the same code (`upstreams.*.record`).
        .library(name: "UpstreamRecording", targets: ["UpstreamRecording"]),
    ],
    dependencies: [
        .package(path: "../AdapterKit"),
        .package(path: "../SyncEngine"),
        .package(path: "../WireFormats"),
    ],
    targets: [
        .target(
            name: "UpstreamRecording",
            dependencies: [adapterKit, .product(name: "WireFormats", package: "WireFormats")],
            path: "UpstreamRecording", swiftSettings: strict),
        .target(
            name: "MemoryStore",
            dependencies: [
                adapterKit, .product(name: "RecordStorage", package: "SyncEngine"),
                .product(name: "RecordEvaluation", package: "SyncEngine"),
            ], path: "MemoryStore", swiftSettings: strict),
        .target(
            name: "AdapterTesting",
            dependencies: [
                adapterKit, "UpstreamRecording", "MemoryStore", .product(name: "RecordStorage", package: "SyncEngine"),
            ], path: "AdapterTesting", swiftSettings: strict),
        .testTarget(
            name: "AdapterTestingTests", dependencies: ["AdapterTesting", adapterKit],
            path: "Tests/AdapterTestingTests", swiftSettings: strict),
        .testTarget(
            name: "UpstreamRecordingTests", dependencies: ["UpstreamRecording", "AdapterTesting", adapterKit],
            path: "Tests/UpstreamRecordingTests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
