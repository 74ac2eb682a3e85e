// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")

let package = Package(
    name: "Weather",
    platforms: [.macOS(.v15)],
    products: [
        // The adapter's program, which a gateway runs as a worker.
        .executable(name: "weather-worker", targets: ["weather-worker"]),
        // For a host that compiles it in.
        .library(name: "Weather", targets: ["Weather"]),
    ],
    dependencies: [
        .package(path: "../../Sources/AdapterKit"),
        .package(path: "../../Sources/AdapterTesting"),
        .package(path: "../../Sources/AdapterWorker"),
    ],
    targets: [
        .target(name: "Weather", dependencies: [adapterKit], swiftSettings: strict),
        .executableTarget(
            name: "weather-worker",
            dependencies: ["Weather", .product(name: "AdapterWorker", package: "AdapterWorker")], swiftSettings: strict),
        .testTarget(
            name: "WeatherTests",
            dependencies: ["Weather", adapterKit, .product(name: "AdapterTesting", package: "AdapterTesting")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
