// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the model and the language are built and tested without server and database, and so
// that a client or a generator of typed code can use them.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")
let wireFormats = Target.Dependency.product(name: "WireFormats", package: "WireFormats")

let package = Package(
    name: "OData",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "ODataModel", targets: ["ODataModel"]),
        .library(name: "ODataLanguage", targets: ["ODataLanguage"]),
        .library(name: "ODataEngine", targets: ["ODataEngine"]),
        .library(name: "ODataFuzzing", targets: ["ODataFuzzing"]),
        .executable(name: "odata-fuzz", targets: ["odata-fuzz"]),
    ],
    dependencies: [
        .package(path: "../AdapterKit"),
        .package(path: "../WireFormats"),
    ],
    targets: [
        .target(
            name: "ODataModel", dependencies: [adapterKit, wireFormats], path: "ODataModel", swiftSettings: strict),
        .target(
            name: "ODataLanguage", dependencies: ["ODataModel", adapterKit], path: "ODataLanguage",
            swiftSettings: strict),
        .target(
            name: "ODataEngine", dependencies: ["ODataLanguage", "ODataModel", adapterKit], path: "ODataEngine",
            swiftSettings: strict),
        .target(name: "ODataFuzzing", dependencies: [adapterKit], path: "Fuzzing", swiftSettings: strict),
        .executableTarget(
            name: "odata-fuzz",
            dependencies: ["ODataFuzzing", "ODataEngine", "ODataLanguage", "ODataModel", adapterKit],
            path: "Drivers/Fuzz", swiftSettings: strict),
        .testTarget(
            name: "ODataEngineTests", dependencies: ["ODataEngine", "ODataLanguage", "ODataModel", adapterKit],
            path: "Tests/ODataEngineTests", swiftSettings: strict),
        .testTarget(
            name: "ODataModelTests", dependencies: ["ODataModel", adapterKit, wireFormats],
            path: "Tests/ODataModelTests", swiftSettings: strict),
        .testTarget(
            name: "ODataLanguageTests", dependencies: ["ODataLanguage", "ODataModel", adapterKit],
            path: "Tests/ODataLanguageTests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
