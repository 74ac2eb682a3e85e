// swift-tools-version: 6.2
import PackageDescription

// The SDK: AdapterKit, the worker's runtime, and what tests need. PORTICO_SDK names another folder, as on a build server.
let sdk = Context.environment["PORTICO_SDK"] ?? "SDK-PATH"

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")

let package = Package(
    name: "acme",
    platforms: [.macOS(.v15)],
    products: [
        // The adapter's program, which a gateway runs as a worker.
        .executable(name: "acme-worker", targets: ["acme-worker"]),
        // For a host that compiles it in.
        .library(name: "AcmeAdapter", targets: ["AcmeAdapter"]),
    ],
    dependencies: [
        .package(path: "\(sdk)/AdapterKit"),
        .package(path: "\(sdk)/AdapterTesting"),
        .package(path: "\(sdk)/AdapterWorker"),
    ],
    targets: [
        .target(name: "AcmeAdapter", dependencies: [adapterKit], swiftSettings: strict),
        .executableTarget(
            name: "acme-worker",
            dependencies: ["AcmeAdapter", .product(name: "AdapterWorker", package: "AdapterWorker")],
            swiftSettings: strict),
        .testTarget(
            name: "AcmeAdapterTests",
            dependencies: [
                "AcmeAdapter", adapterKit, .product(name: "AdapterTesting", package: "AdapterTesting"),
            ], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
