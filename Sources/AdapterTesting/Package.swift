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
        .library(name: "AdapterTesting", targets: ["AdapterTesting"])
    ],
    dependencies: [
        .package(path: "../AdapterKit"),
        .package(path: "../SyncEngine"),
    ],
    targets: [
        .target(
            name: "AdapterTesting",
            dependencies: [
                adapterKit, .product(name: "RecordEvaluation", package: "SyncEngine"),
                .product(name: "RecordStorage", package: "SyncEngine"),
            ], path: "AdapterTesting", swiftSettings: strict),
        .testTarget(
            name: "AdapterTestingTests", dependencies: ["AdapterTesting", adapterKit],
            path: "Tests/AdapterTestingTests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
