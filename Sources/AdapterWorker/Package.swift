// swift-tools-version: 6.2
import PackageDescription

// What an adapter's program is made of. It depends on AdapterKit alone, so that a team's build resolves nothing else.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")

let package = Package(
    name: "AdapterWorker",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "AdapterWorker", targets: ["AdapterWorker"]),
        // For the host, which speaks the other side of the protocol.
        .library(name: "AdapterProtocol", targets: ["AdapterProtocol"]),
    ],
    dependencies: [.package(path: "../AdapterKit")],
    targets: [
        .target(
            name: "AdapterProtocol", dependencies: [adapterKit], path: "AdapterProtocol", swiftSettings: strict),
        .target(
            name: "AdapterWorker", dependencies: ["AdapterProtocol", adapterKit], path: "AdapterWorker",
            swiftSettings: strict),
        .testTarget(
            name: "AdapterProtocolTests", dependencies: ["AdapterProtocol", adapterKit],
            path: "Tests/AdapterProtocolTests", swiftSettings: strict),
        .testTarget(
            name: "AdapterWorkerTests", dependencies: ["AdapterWorker", adapterKit],
            path: "Tests/AdapterWorkerTests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
