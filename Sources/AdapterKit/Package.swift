// swift-tools-version: 6.2
import PackageDescription

// AdapterKit is a package of its own without any dependency: the host and every plugin share the one dynamic
// library built here, and whatever it embedded would exist twice in one process (docs/decisions/0002).
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "AdapterKit",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "AdapterKit", type: .dynamic, targets: ["AdapterKit", "ValueTree"])
    ],
    targets: [
        .target(name: "ValueTree", path: "ValueTree", swiftSettings: strict),
        // Headers alone; a system library is what the package manager calls a module without sources.
        .systemLibrary(name: "CAdapterKitStamp", path: "CAdapterKitStamp"),
        .target(
            name: "AdapterKit", dependencies: ["ValueTree", "CAdapterKitStamp"], path: "AdapterKit",
            swiftSettings: strict),
        .testTarget(
            name: "ValueTreeTests", dependencies: ["ValueTree"], path: "Tests/ValueTreeTests", swiftSettings: strict),
        .testTarget(
            name: "AdapterKitTests", dependencies: ["AdapterKit"], path: "Tests/AdapterKitTests",
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
