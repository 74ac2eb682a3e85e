// swift-tools-version: 6.2
import PackageDescription

// The adapter of `make worker-speed`.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")

let package = Package(
    name: "Speed",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "speed-worker", targets: ["SpeedWorker"])
    ],
    dependencies: [
        .package(path: "../../../Sources/AdapterKit"),
        .package(path: "../../../Sources/AdapterWorker"),
    ],
    targets: [
        .target(name: "Speed", dependencies: [adapterKit], swiftSettings: strict),
        .executableTarget(
            name: "SpeedWorker",
            dependencies: ["Speed", adapterKit, .product(name: "AdapterWorker", package: "AdapterWorker")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
