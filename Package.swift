// swift-tools-version: 6.2
import PackageDescription

// The host: every module of the gateway process. Modules that apps or plugins use too are packages of their own below
// `Sources`. `make check` compares the dependencies with docs/module-dependencies.md.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let adapterKit = Target.Dependency.product(name: "AdapterKit", package: "AdapterKit")
let wireFormats = Target.Dependency.product(name: "WireFormats", package: "WireFormats")
let syncEngine = Target.Dependency.product(name: "SyncEngine", package: "SyncEngine")
let recordStorage = Target.Dependency.product(name: "RecordStorage", package: "SyncEngine")
let adapterProtocol = Target.Dependency.product(name: "AdapterProtocol", package: "AdapterWorker")
let client = Target.Dependency.product(name: "Client", package: "Client")
let upstreamRecording = Target.Dependency.product(name: "UpstreamRecording", package: "AdapterTesting")
func sync(_ name: String) -> Target.Dependency { .product(name: name, package: "SyncEngine") }
func odata(_ name: String) -> Target.Dependency { .product(name: name, package: "OData") }
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

func module(_ name: String, path: String? = nil, _ dependencies: [Target.Dependency], resources: [Resource] = [])
    -> Target
{
    .target(
        name: name, dependencies: dependencies, path: path ?? "Sources/\(name)", resources: resources,
        swiftSettings: strict)
}

func adapter(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    module(name, path: "Sources/Adapters/\(name)", [adapterKit] + dependencies)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(name)", resources: resources, swiftSettings: strict)
}

/// A program that tests or measures, built for release.
func driver(_ name: String, path: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

/// The tests of a package below `Sources`, built and run with the host's, so that one build serves all tests. The package's
/// own manifest has them as well, for working on it alone. They are compiled under its name: declarations with `package`
/// access are visible to them in both builds.
func packageTests(_ name: String, of package: String, path: String? = nil, _ dependencies: [Target.Dependency])
    -> Target
{
    .testTarget(
        name: name, dependencies: dependencies, path: path ?? "Sources/\(package)/Tests/\(name)", packageAccess: false,
        swiftSettings: strict + [.unsafeFlags(["-package-name", package.lowercased()])])
}

let package = Package(
    name: "Portico",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "portico", targets: ["portico"]),
        .executable(name: "porticoctl", targets: ["porticoctl"]),
        .executable(name: "portico-worker-launcher", targets: ["portico-worker-launcher"]),
        .executable(name: "portico-client-demo", targets: ["portico-client-demo"]),
        .executable(name: "portico-stand-in", targets: ["portico-stand-in"]),
    ],
    dependencies: [
        .package(path: "Sources/AdapterKit"),
        .package(path: "Sources/AdapterTesting"),
        .package(path: "Sources/AdapterWorker"),
        .package(path: "Sources/Client"),
        .package(path: "Sources/OData"),
        .package(path: "Sources/WireFormats"),
        .package(path: "Sources/SyncEngine"),
        .package(path: "Sources/SyncSimulator"),
        // Exact versions, because Package.resolved is not committed.
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibXML2", path: "Sources/CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        module("XMLSchema", ["CLibXML2"]),
        module("SOAP", [adapterKit, wireFormats, .product(name: "Crypto", package: "swift-crypto")]),
        .systemLibrary(
            name: "CZlib", path: "Sources/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        module("IPAddresses", []),
        module("AccountShares", [adapterKit, .product(name: "NIOCore", package: "swift-nio")]),
        module("Telemetry", [adapterKit, wireFormats, metrics, tracing]),
        module("CSV", [adapterKit]),
        module("DurableFiles", [adapterKit, .product(name: "Crypto", package: "swift-crypto")]),
        module(
            "AdapterPackages",
            [
                adapterKit, adapterProtocol, wireFormats, "DurableFiles",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        module(
            "SQLiteStore",
            [
                recordStorage, adapterKit, wireFormats, "DurableFiles", "Telemetry",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        module(
            "Identity",
            [
                adapterKit, "IPAddresses", recordStorage,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
            ]),
        module(
            "Upstream",
            [
                adapterKit, wireFormats, "AccountShares", "IPAddresses", "CZlib", "Telemetry",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        module(
            "WorkerTesting", path: "Tests/WorkerTesting",
            [
                "WorkerHost", adapterKit, adapterProtocol,
                .product(name: "AdapterWorker", package: "AdapterWorker"),
            ]),
        module(
            "UpstreamStandIn", path: "Tests/UpstreamStandIn",
            [
                adapterKit, "IPAddresses", "Upstream",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        module(
            "AttachmentFiles",
            [adapterKit, recordStorage, "DurableFiles", .product(name: "Crypto", package: "swift-crypto")]),
        module("Push", [adapterKit, wireFormats, .product(name: "Crypto", package: "swift-crypto")]),
        module(
            "MirrorEngine",
            [adapterKit, recordStorage, "AccountShares", .product(name: "Crypto", package: "swift-crypto")]),
        .target(
            name: "CWorkerProcess", path: "Sources/CWorkerProcess", cSettings: [.treatAllWarnings(as: .error)]),
        module("WorkerHost", [adapterKit, adapterProtocol, recordStorage, wireFormats, "CWorkerProcess"]),
        .executableTarget(
            name: "portico-worker-launcher", path: "Sources/portico-worker-launcher",
            cSettings: [.treatAllWarnings(as: .error)]),
        module("NearestNames", []),
        module("HostConfiguration", [adapterKit, "NearestNames", .product(name: "Yams", package: "Yams")]),
        module(
            "CommandLineSupport",
            ["NearestNames", .product(name: "ArgumentParser", package: "swift-argument-parser")]),
        module(
            "HTTPServer",
            [
                adapterKit, "IPAddresses",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        module(
            "Gateway",
            [
                adapterKit, wireFormats, recordStorage, syncEngine, "AccountShares", "CSV", "HTTPServer", "Identity",
                "IPAddresses", "MirrorEngine", "NearestNames", "SOAP", "CZlib", "Telemetry",
                .product(name: "SyncMessages", package: "SyncEngine"),
                metrics, tracing,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        module(
            "BrowserClient", ["Gateway", adapterKit],
            resources: [.embedInCode("Client"), .embedInCode("Demonstration")]),
        module("ChatPage", ["Gateway", adapterKit], resources: [.embedInCode("Files")]),
        module("Explorer", ["Gateway", adapterKit, wireFormats], resources: [.embedInCode("Files")]),
        adapter("PlistFeeds", [wireFormats]),
        adapter("EmployeeSearch", [wireFormats, "SOAP"]),
        adapter("XMLUsers", [wireFormats]),
        adapter("Chat", [wireFormats]),
        module(
            "ODataAdapter", path: "Sources/Adapters/OData",
            [
                adapterKit, wireFormats, "CSV", odata("ODataModel"), odata("ODataLanguage"), odata("ODataEngine"),
            ]),
        adapter("ODataReference", [wireFormats]),
        adapter("ConnectedSystems", [wireFormats, "CSV", "HostConfiguration"]),
        .executableTarget(
            name: "portico",
            dependencies: [
                adapterKit, wireFormats, recordStorage, syncEngine, logging, "Gateway", "HTTPServer", "Identity",
                "IPAddresses", "Telemetry",
                "Upstream", upstreamRecording,
                "SQLiteStore",
                "AttachmentFiles", "DurableFiles",
                "WorkerHost", "portico-worker-launcher",
                "HostConfiguration", "CommandLineSupport", "NearestNames", "BrowserClient", "ChatPage", "Explorer",
                "Push",
                "PlistFeeds", "EmployeeSearch", "XMLUsers",
                "Chat", "ODataAdapter", "ODataReference", "ConnectedSystems", "AdapterPackages",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            path: "Sources/portico", swiftSettings: strict),
        module("ClientGeneration", [adapterKit, odata("ODataModel")]),
        .executableTarget(
            name: "porticoctl",
            dependencies: [
                adapterKit, "AdapterPackages", "ClientGeneration", "CommandLineSupport", "ConnectedSystems", "SOAP",
                wireFormats, recordStorage,
                odata("ODataModel"),
                odata("ODataLanguage"),
                odata("ODataEngine"),
                "SQLiteStore",
                "AttachmentFiles", "DurableFiles",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/porticoctl", swiftSettings: strict),
        .executableTarget(
            name: "portico-client-demo", dependencies: [client], path: "Sources/portico-client-demo",
            swiftSettings: strict),
        module(
            "StandInService",
            [
                adapterKit, wireFormats, "SOAP",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "portico-stand-in",
            dependencies: [
                "StandInService", adapterKit, wireFormats,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Sources/portico-stand-in", swiftSettings: strict),
        module(
            "MirrorSimulator", path: "Sources/MirrorSimulator/Simulator",
            [
                "MirrorEngine", adapterKit, recordStorage, syncEngine, sync("SyncMessages"), sync("SyncDevice"),
                sync("MemoryStore"), .product(name: "SyncSimulator", package: "SyncSimulator"),
            ]),
        driver(
            "mirror-simulator", path: "Sources/MirrorSimulator/Driver",
            ["MirrorSimulator", .product(name: "SyncSimulator", package: "SyncSimulator")]),
        driver("client-kill-driver", path: "Tests/Drivers/ClientKill", [client]),
        driver("store-kill-driver", path: "Tests/Drivers/StoreKill", ["SQLiteStore", recordStorage, adapterKit]),
        driver(
            "worker-speed", path: "Tests/Drivers/WorkerSpeed",
            ["WorkerHost", adapterKit, .product(name: "AdapterWorker", package: "AdapterWorker")]),
        driver("store-speed", path: "Tests/Drivers/StoreSpeed", ["SQLiteStore", recordStorage, adapterKit]),
        tests(
            "SQLiteStoreTests",
            [
                "SQLiteStore", "DurableFiles", "AttachmentFiles", "Telemetry", recordStorage, adapterKit,
                .product(name: "GRDB", package: "GRDB.swift"), sync("MemoryStore"),
                .product(name: "StoreConformance", package: "SyncEngine"),
            ]),
        tests(
            "ODataQueryTests",
            [
                odata("ODataFuzzing"),
                odata("ODataEngine"), odata("ODataLanguage"), odata("ODataModel"),
                "SQLiteStore",
                recordStorage, adapterKit,
            ]),
        tests(
            "ODataAdapterTests",
            [
                "ODataAdapter", "ODataReference", "SQLiteStore", adapterKit, wireFormats, recordStorage,
                sync("MemoryStore"), .product(name: "AdapterTesting", package: "AdapterTesting"),
            ]),
        tests(
            "IdentityTests",
            [
                "Identity", "IPAddresses", "Upstream", "UpstreamStandIn", adapterKit, recordStorage,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        tests(
            "XMLSchemaTests",
            [
                "XMLSchema", "CLibXML2", adapterKit, wireFormats,
                .product(name: "WireFormatTesting", package: "WireFormats"),
            ]),
        tests(
            "UpstreamTests",
            [
                "Upstream", "IPAddresses", "UpstreamStandIn", "CZlib", adapterKit, upstreamRecording,
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        tests(
            "MirrorEngineTests",
            ["MirrorEngine", adapterKit, recordStorage, sync("MemoryStore")]),
        tests(
            "porticoctlTests",
            [
                "porticoctl", "CommandLineSupport", "HTTPServer", "IPAddresses", "SQLiteStore", adapterKit, wireFormats,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        tests(
            "porticoTests",
            [
                "portico", "Gateway", "HostConfiguration", "Identity", "Push", "Telemetry",
                "Upstream", syncEngine,
                recordStorage, adapterKit, adapterProtocol, wireFormats,
                logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ]),
        tests(
            "TelemetryTests", ["Telemetry", adapterKit, wireFormats, metrics, tracing]),
        tests("PushTests", ["Push", adapterKit, wireFormats, .product(name: "Crypto", package: "swift-crypto")]),
        tests(
            "AttachmentFilesTests",
            [
                "AttachmentFiles", adapterKit, recordStorage, .product(name: "Crypto", package: "swift-crypto"),
            ]),
        tests("SOAPTests", ["SOAP", adapterKit, wireFormats], resources: [.copy("Fixtures")]),
        tests(
            "MirrorSimulatorTests",
            ["MirrorSimulator", .product(name: "SyncSimulator", package: "SyncSimulator")]),
        tests("StandInServiceTests", ["StandInService", adapterKit, wireFormats]),
        // A program in C that does what a worker must not be able to.
        .executableTarget(
            name: "hostile-worker", path: "Tests/Drivers/HostileWorker", cSettings: [.treatAllWarnings(as: .error)]),
        tests(
            "WorkerHostTests",
            ["WorkerHost", adapterKit, adapterProtocol, "portico-worker-launcher", "hostile-worker"]),
        tests(
            "AdapterPackagesTests",
            ["AdapterPackages", adapterKit, .product(name: "Crypto", package: "swift-crypto")]),
        tests(
            "WorkerProtocolTests",
            [
                "WorkerHost", "WorkerTesting", "SQLiteStore", recordStorage, adapterKit, adapterProtocol,
                .product(name: "AdapterTesting", package: "AdapterTesting"),
            ]),
        tests("ClientGenerationTests", ["ClientGeneration", adapterKit, odata("ODataModel")]),
        tests("HostConfigurationTests", ["HostConfiguration", "NearestNames", adapterKit]),
        tests(
            "HTTPServerTests",
            [
                "HTTPServer", "IPAddresses", adapterKit,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ]),
        tests(
            "GatewayTests",
            [
                "Gateway", "AccountShares", "CSV", "HTTPServer", "Identity", "SQLiteStore", "AttachmentFiles",
                "WorkerHost",
                adapterKit,
                "Telemetry", wireFormats, recordStorage, syncEngine, sync("MemoryStore"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SyncMessages", package: "SyncEngine"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        tests(
            "AdapterTests",
            [
                "PlistFeeds", "EmployeeSearch", "XMLUsers", "Chat", "WorkerTesting", adapterKit, wireFormats,
                .product(name: "AdapterTesting", package: "AdapterTesting"),
            ]),
        tests(
            "ConnectedSystemsTests",
            [
                "ConnectedSystems", "HostConfiguration", adapterKit, wireFormats,
                .product(name: "AdapterTesting", package: "AdapterTesting"),
            ]),
        packageTests("AdapterProtocolTests", of: "AdapterWorker", [adapterKit, adapterProtocol]),
        packageTests(
            "AdapterWorkerTests", of: "AdapterWorker",
            [adapterKit, .product(name: "AdapterWorker", package: "AdapterWorker")]),
        packageTests("ValueTreeTests", of: "AdapterKit", [adapterKit]),
        packageTests("AdapterKitTests", of: "AdapterKit", [adapterKit]),
        packageTests(
            "WireFormatsTests", of: "WireFormats",
            [wireFormats, .product(name: "WireFormatTesting", package: "WireFormats"), adapterKit]),
        packageTests(
            "ODataEngineTests", of: "OData",
            [odata("ODataEngine"), odata("ODataLanguage"), odata("ODataModel"), adapterKit]),
        packageTests("ODataModelTests", of: "OData", [odata("ODataModel"), adapterKit, wireFormats]),
        packageTests("ODataLanguageTests", of: "OData", [odata("ODataLanguage"), odata("ODataModel"), adapterKit]),
        packageTests(
            "SyncEngineTests", of: "SyncEngine",
            [
                recordStorage, syncEngine, sync("SyncMessages"), sync("MemoryStore"), sync("StoreConformance"),
                adapterKit,
            ]),
        packageTests("SyncDeviceTests", of: "SyncEngine", [sync("SyncDevice"), sync("SyncMessages"), adapterKit]),
        packageTests(
            "SyncSimulatorTests", of: "SyncSimulator", path: "Sources/SyncSimulator/Tests",
            [.product(name: "SyncSimulator", package: "SyncSimulator")]),
        packageTests(
            "AdapterTestingTests", of: "AdapterTesting",
            [.product(name: "AdapterTesting", package: "AdapterTesting"), adapterKit]),
        packageTests(
            "UpstreamRecordingTests", of: "AdapterTesting",
            [.product(name: "AdapterTesting", package: "AdapterTesting"), upstreamRecording, adapterKit]),
        packageTests(
            "ClientTests", of: "Client",
            [
                client, .product(name: "ReplicaStorage", package: "Client"), adapterKit, wireFormats,
                sync("SyncMessages"), .product(name: "GRDB", package: "GRDB.swift"), recordStorage,
                syncEngine, sync("MemoryStore"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
