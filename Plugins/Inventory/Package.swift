// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")

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
        .package(path: "../../Sources/AdapterKit"),
        .package(path: "../../Sources/AdapterTesting"),
        .package(path: "../../Sources/AdapterWorker"),
    ],
    targets: [
        .target(name: "Inventory", dependencies: [adapterKit], swiftSettings: strict),
        .executableTarget(
            name: "inventory-worker",
            dependencies: ["Inventory", .product(name: "AdapterWorker", package: "AdapterWorker")],
            swiftSettings: strict),
        .testTarget(
            name: "InventoryTests",
            dependencies: ["Inventory", adapterKit, .product(name: "AdapterTesting", package: "AdapterTesting")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
