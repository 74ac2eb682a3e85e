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
        // Without the server. In a repository of your own: Portico's address and a version.
        .package(name: "Portico", path: "../..", traits: [])
    ],
    targets: [
        .target(
            name: "Notes", dependencies: [.product(name: "AdapterKit", package: "Portico")],
            swiftSettings: strict),
        .executableTarget(
            name: "NotesWorker", dependencies: ["Notes", .product(name: "AdapterWorker", package: "Portico")],
            swiftSettings: strict),
        .testTarget(
            name: "NotesTests",
            dependencies: [
                "Notes", .product(name: "AdapterKit", package: "Portico"),
                .product(name: "AdapterTesting", package: "Portico"),
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
