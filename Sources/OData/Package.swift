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
        .library(name: "ODataRecords", targets: ["ODataRecords"]),
        .library(name: "ODataQueries", targets: ["ODataQueries"]),
        .library(name: "ODataAddresses", targets: ["ODataAddresses"]),
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
            name: "ODataRecords", dependencies: ["ODataModel", adapterKit], path: "ODataRecords",
            swiftSettings: strict),
        .target(
            name: "ODataQueries", dependencies: ["ODataLanguage", "ODataRecords", "ODataModel", adapterKit],
            path: "ODataQueries", swiftSettings: strict),
        .target(
            name: "ODataAddresses",
            dependencies: ["ODataQueries", "ODataLanguage", "ODataRecords", "ODataModel", adapterKit],
            path: "ODataAddresses", swiftSettings: strict),
        .target(name: "ODataFuzzing", path: "Fuzzing", swiftSettings: strict),
        .executableTarget(
            name: "odata-fuzz",
            dependencies: ["ODataFuzzing", "ODataQueries", "ODataLanguage", "ODataRecords", "ODataModel", adapterKit],
            path: "Drivers/Fuzz", swiftSettings: strict),
        .testTarget(
            name: "ODataAddressesTests",
            dependencies: ["ODataAddresses", "ODataLanguage", "ODataModel"],
            path: "Tests/ODataAddressesTests", swiftSettings: strict),
        .testTarget(
            name: "ODataQueriesTests",
            dependencies: ["ODataQueries", "ODataRecords", adapterKit],
            path: "Tests/ODataQueriesTests", swiftSettings: strict),
        .testTarget(
            name: "ODataRecordsTests", dependencies: ["ODataRecords", "ODataModel", adapterKit],
            path: "Tests/ODataRecordsTests", swiftSettings: strict),
        .testTarget(
            name: "ODataModelTests", dependencies: ["ODataModel", adapterKit, wireFormats],
            path: "Tests/ODataModelTests", swiftSettings: strict),
        .testTarget(
            name: "ODataLanguageTests", dependencies: ["ODataLanguage", "ODataModel", adapterKit],
            path: "Tests/ODataLanguageTests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
