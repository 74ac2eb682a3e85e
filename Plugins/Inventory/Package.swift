// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "Portico")

let package = Package(
    name: "Inventory",
    platforms: [.macOS(.v15)],
    products: [
        // The adapter's program, which a gateway runs as a worker.
        .executable(name: "inventory-worker", targets: ["inventory-worker"]),
        // For a host that compiles it in.
        .library(name: "Inventory", targets: ["Inventory"]),
    ],
    dependencies: [
        // Without the server. In a repository of your own: Portico's address and a version.
        .package(name: "Portico", path: "../..", traits: [])
    ],
    targets: [
        .target(name: "Inventory", dependencies: [adapterKit], swiftSettings: strict),
        .executableTarget(
            name: "inventory-worker",
            dependencies: ["Inventory", .product(name: "AdapterWorker", package: "Portico")],
            swiftSettings: strict),
        .testTarget(
            name: "InventoryTests",
            dependencies: ["Inventory", adapterKit, .product(name: "AdapterTesting", package: "Portico")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
