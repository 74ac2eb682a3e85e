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
        // The adapter's program, which a gateway runs as a worker.
        .executable(name: "notes-worker", targets: ["NotesWorker"]),
        // For a host that compiles it in.
        .library(name: "Notes", targets: ["Notes"]),
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
