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
        .library(name: "Inventory", type: .dynamic, targets: ["Inventory"])
    ],
    dependencies: [
        .package(path: "../../Sources/AdapterKit"),
        .package(path: "../../Sources/AdapterTesting"),
    ],
    targets: [
        .target(name: "Inventory", dependencies: [adapterKit], swiftSettings: strict),
        .testTarget(
            name: "InventoryTests",
            dependencies: ["Inventory", adapterKit, .product(name: "AdapterTesting", package: "AdapterTesting")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
