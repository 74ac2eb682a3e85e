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
        .library(name: "Weather", type: .dynamic, targets: ["Weather"])
    ],
    dependencies: [
        .package(path: "../../Sources/AdapterKit"),
        .package(path: "../../Sources/AdapterTesting"),
    ],
    targets: [
        .target(name: "Weather", dependencies: [adapterKit], swiftSettings: strict),
        .testTarget(
            name: "WeatherTests",
            dependencies: ["Weather", adapterKit, .product(name: "AdapterTesting", package: "AdapterTesting")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
