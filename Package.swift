// swift-tools-version: 6.2
import PackageDescription

// Every module of Portico. What stands behind the trait `Server` is fetched for a gateway's program alone: an app or an adapter's
// package that says `traits: []` resolves what the client needs. A module that people work on by itself has a manifest of its own below
// `Sources`. `make check` compares the dependencies with docs/module-dependencies.md.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A product that only the server needs.
func server(_ product: String, _ package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: ["Server"]))
}

func module(
    _ name: String, path: String? = nil, excluding excluded: [String] = [], _ dependencies: [Target.Dependency],
    resources: [Resource] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: path ?? "Sources/\(name)", exclude: excluded,
        resources: resources, swiftSettings: strict)
}

func adapter(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    module(name, path: "Sources/Adapters/\(name)", ["AdapterKit"] + dependencies)
}

func tests(_ name: String, path: String? = nil, _ dependencies: [Target.Dependency], resources: [Resource] = [])
    -> Target
{
    .testTarget(
        name: name, dependencies: dependencies, path: path ?? "Tests/\(name)", resources: resources,
        swiftSettings: strict)
}

/// A program that tests or measures, built for release.
func driver(_ name: String, path: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

let package = Package(
    name: "Portico",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        // For a gateway's program of one's own. Needs the trait `Server`.
        .library(name: "Host", targets: ["Host", "BuiltInAdapters"]),
        // For adapters, compiled into a host or as programs.
        .library(name: "AdapterKit", targets: ["AdapterKit", "ValueTree"]),
        .library(name: "AdapterWorker", targets: ["AdapterWorker"]),
        .library(name: "AdapterTesting", targets: ["AdapterTesting"]),
        // For apps.
        .library(name: "Client", targets: ["Client"]),
        .executable(name: "portico", targets: ["portico"]),
        .executable(name: "porticoctl", targets: ["porticoctl-program"]),
        .executable(name: "portico-worker-launcher", targets: ["portico-worker-launcher"]),
        .executable(name: "portico-client-demo", targets: ["portico-client-demo"]),
        .executable(name: "portico-stand-in", targets: ["portico-stand-in"]),
    ],
    traits: [
        .trait(name: "Server", description: "What a gateway's program needs; an app and an adapter do without."),
        .default(enabledTraits: ["Server"]),
    ],
    dependencies: [
        // A range, because the interface of Host shows it: a program of one's own may need a later version.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Exact versions, because Package.resolved is not committed.
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
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
        module("ValueTree", path: "Sources/AdapterKit/ValueTree", []),
        module("AdapterKit", path: "Sources/AdapterKit/AdapterKit", ["ValueTree"]),
        module("AdapterProtocol", path: "Sources/AdapterWorker/AdapterProtocol", ["AdapterKit"]),
        module("AdapterWorker", path: "Sources/AdapterWorker/AdapterWorker", ["AdapterKit", "AdapterProtocol"]),
        module(
            "WireFormats", excluding: ["Conformance", "Drivers", "Package.swift", "Tests"], ["AdapterKit"]),
        module("WireFormatTesting", path: "Sources/WireFormats/Conformance", ["AdapterKit", "WireFormats"]),
        .executableTarget(
            name: "wire-differential", dependencies: ["AdapterKit", "WireFormats", "WireFormatTesting"],
            path: "Sources/WireFormats/Drivers/Differential", exclude: ["compare.py"], swiftSettings: strict),
        .executableTarget(
            name: "wire-verdict", dependencies: ["WireFormats"], path: "Sources/WireFormats/Drivers/Verdict",
            exclude: ["compare.py"], swiftSettings: strict),
        module("ODataModel", path: "Sources/OData/ODataModel", ["AdapterKit", "WireFormats"]),
        module("ODataLanguage", path: "Sources/OData/ODataLanguage", ["AdapterKit", "ODataModel"]),
        module("ODataEngine", path: "Sources/OData/ODataEngine", ["AdapterKit", "ODataModel", "ODataLanguage"]),
        module("ODataFuzzing", path: "Tests/ODataFuzzing/Requests", ["AdapterKit"]),
        driver(
            "odata-fuzz", path: "Tests/ODataFuzzing/Driver",
            ["AdapterKit", "ODataFuzzing", "ODataModel", "ODataLanguage", "ODataEngine"]),
        module("SyncMessages", path: "Sources/SyncEngine/SyncMessages", ["AdapterKit"]),
        module("SyncDevice", path: "Sources/SyncEngine/SyncDevice", ["AdapterKit", "SyncMessages"]),
        module(
            "ReplicaStorage", path: "Sources/Client/Storage",
            [
                "AdapterKit", "WireFormats", "SyncMessages", "SyncDevice",
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        module(
            "Client", excluding: ["Package.swift", "Storage", "Tests"],
            [
                "AdapterKit", "WireFormats", "SyncMessages", "SyncDevice", "ReplicaStorage",
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "Crypto", package: "swift-crypto"),
            ]),
        module("RecordStorage", path: "Sources/SyncEngine/RecordStorage", ["AdapterKit"]),
        module("RecordEvaluation", path: "Sources/SyncEngine/RecordEvaluation", ["AdapterKit", "RecordStorage"]),
        module(
            "SyncEngine", path: "Sources/SyncEngine/SyncEngine", ["AdapterKit", "SyncMessages", "RecordStorage"]),
        module(
            "MemoryStore", path: "Sources/AdapterTesting/MemoryStore",
            ["AdapterKit", "RecordStorage", "RecordEvaluation"]),
        module(
            "StoreConformance", path: "Tests/StoreConformance",
            ["AdapterKit", "RecordStorage", "RecordEvaluation"]),
        module(
            "SyncSimulator", path: "Tests/Simulation/Sync/Simulator",
            [
                "AdapterKit", "WireFormats", "SyncMessages", "SyncDevice", "RecordStorage", "SyncEngine", "MemoryStore",
                "ReplicaStorage", "StoreConformance",
            ]),
        driver("sync-simulator", path: "Tests/Simulation/Sync/Driver", ["SyncSimulator"]),
        module(
            "UpstreamRecording", path: "Sources/AdapterTesting/UpstreamRecording", ["AdapterKit", "WireFormats"]),
        module(
            "AdapterTesting", path: "Sources/AdapterTesting/AdapterTesting",
            ["AdapterKit", "RecordStorage", "MemoryStore", "UpstreamRecording"]),
        .systemLibrary(
            name: "CLibXML2", path: "Sources/CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        module("XMLSchema", ["CLibXML2"]),
        module("SOAP", ["AdapterKit", "WireFormats", server("Crypto", "swift-crypto")]),
        .systemLibrary(
            name: "CZlib", path: "Sources/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        module("IPAddresses", []),
        module("Admission", ["AdapterKit", server("DequeModule", "swift-collections")]),
        module("AdmissionTesting", path: "Tests/AdmissionTesting", ["AdapterKit", "Admission"]),
        module(
            "Telemetry",
            [
                "AdapterKit", "WireFormats", server("CoreMetrics", "swift-metrics"),
                server("Tracing", "swift-distributed-tracing"),
            ]),
        module("CSV", ["AdapterKit"]),
        module("DurableFiles", ["AdapterKit", server("Crypto", "swift-crypto")]),
        module(
            "AdapterPackages",
            [
                "AdapterKit", "AdapterProtocol", "WireFormats", "DurableFiles",
                server("Crypto", "swift-crypto"),
            ]),
        module(
            "SQLiteStore",
            [
                "RecordStorage", "AdapterKit", "Admission", "WireFormats", "DurableFiles", "Telemetry",
                server("DequeModule", "swift-collections"),
                server("GRDB", "GRDB.swift"),
                server("GRDBSQLite", "GRDB.swift"),
            ]),
        .target(
            name: "CLibPQ", path: "Sources/CLibPQ", cSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        module(
            "PostgreSQLStore",
            [
                "AdapterKit", "WireFormats", "RecordStorage", "RecordEvaluation", "Admission", "CLibPQ",
                server("DequeModule", "swift-collections"),
            ]),
        module(
            "Backups",
            [
                "AdapterKit", "RecordStorage", "WireFormats", "DurableFiles", "AttachmentFiles", "SQLiteStore",
                server("Crypto", "swift-crypto"),
            ]),
        module(
            "Identity",
            [
                "AdapterKit", "Admission", "IPAddresses", "RecordStorage",
                server("Crypto", "swift-crypto"),
                server("CryptoExtras", "swift-crypto"),
                server("DequeModule", "swift-collections"),
                server("JWTKit", "jwt-kit"),
            ]),
        module(
            "Upstream",
            [
                "AdapterKit", "WireFormats", "Admission", "IPAddresses", "CZlib", "Telemetry",
                server("AsyncHTTPClient", "async-http-client"),
                server("Crypto", "swift-crypto"),
                server("CryptoExtras", "swift-crypto"),
                server("DequeModule", "swift-collections"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOHTTP2", "swift-nio-http2"),
                server("NIOPosix", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
            ]),
        module(
            "WorkerTesting", path: "Tests/WorkerTesting",
            [
                "WorkerHost", "AdapterKit", "AdapterProtocol",
                "AdapterWorker",
            ]),
        module(
            "UpstreamStandIn", path: "Tests/UpstreamStandIn",
            [
                "AdapterKit", "IPAddresses", "Upstream",
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOPosix", "swift-nio"),
            ]),
        module(
            "AttachmentFiles",
            ["AdapterKit", "RecordStorage", "DurableFiles", server("Crypto", "swift-crypto")]),
        module("Push", ["AdapterKit", "WireFormats", server("Crypto", "swift-crypto")]),
        module(
            "MirrorEngine",
            ["AdapterKit", "RecordStorage", "Admission", server("Crypto", "swift-crypto")]),
        .target(
            name: "CWorkerProcess", path: "Sources/CWorkerProcess", cSettings: [.treatAllWarnings(as: .error)]),
        module(
            "WorkerHost",
            [
                "AdapterKit", "AdapterProtocol", "Admission", "RecordStorage", "WireFormats", "CWorkerProcess",
                server("DequeModule", "swift-collections"),
            ]),
        .executableTarget(
            name: "portico-worker-launcher", path: "Sources/portico-worker-launcher",
            cSettings: [.treatAllWarnings(as: .error)]),
        module("NearestNames", []),
        module("HostConfiguration", ["AdapterKit", "NearestNames", server("Yams", "Yams")]),
        module(
            "CommandLineSupport",
            ["NearestNames", server("ArgumentParser", "swift-argument-parser")]),
        module(
            "HTTPServer",
            [
                "AdapterKit", "Admission", "IPAddresses",
                server("HTTPTypes", "swift-http-types"),
                server("NIOCore", "swift-nio"),
                server("NIOHPACK", "swift-nio-http2"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOHTTP2", "swift-nio-http2"),
                server("NIOPosix", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
                server("NIOTLS", "swift-nio"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
            ]),
        module(
            "Gateway",
            [
                "AdapterKit", "WireFormats", "RecordStorage", "SyncEngine", "Admission", "CSV", "HTTPServer",
                "Identity",
                "IPAddresses", "MirrorEngine", "NearestNames", "SOAP", "CZlib", "Telemetry",
                "SyncMessages",
                server("CoreMetrics", "swift-metrics"), server("Tracing", "swift-distributed-tracing"),
                server("Crypto", "swift-crypto"),
                server("DequeModule", "swift-collections"),
                server("HTTPTypes", "swift-http-types"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
            ], resources: [.embedInCode("Pages/Base")]),
        module(
            "BrowserClient", ["Gateway", "AdapterKit"],
            resources: [.embedInCode("Client"), .embedInCode("Demonstration"), .embedInCode("Account")]),
        module("ChatPage", ["Gateway", "AdapterKit"], resources: [.embedInCode("Files")]),
        module("Explorer", ["Gateway", "AdapterKit", "WireFormats"], resources: [.embedInCode("Files")]),
        module("Console", ["Gateway", "AdapterKit"], resources: [.embedInCode("Files")]),
        adapter("PlistFeeds", ["WireFormats"]),
        adapter("EmployeeSearch", ["WireFormats", "SOAP"]),
        adapter("XMLUsers", ["WireFormats"]),
        adapter("Chat", ["WireFormats"]),
        module(
            "ODataAdapter", path: "Sources/Adapters/OData",
            [
                "AdapterKit", "WireFormats", "CSV", "ODataModel", "ODataLanguage", "ODataEngine",
            ]),
        adapter("ODataReference", ["WireFormats"]),
        adapter("ConnectedSystems", ["WireFormats", "CSV", "HostConfiguration"]),
        module(
            "Host",
            [
                "AdapterKit", "Admission", "WireFormats", "RecordStorage", "SyncEngine", server("Logging", "swift-log"),
                "Gateway",
                "HTTPServer", "Identity",
                "IPAddresses", "Telemetry",
                "Upstream", "UpstreamRecording",
                "SQLiteStore",
                "AttachmentFiles", "Backups", "DurableFiles",
                "WorkerHost", "portico-worker-launcher",
                "HostConfiguration", "CommandLineSupport", "NearestNames", "BrowserClient", "Console", "Explorer",
                "Push", "ConnectedSystems", "AdapterPackages",
                server("ArgumentParser", "swift-argument-parser"),
                server("Crypto", "swift-crypto"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
                server("SwiftASN1", "swift-asn1"),
                server("X509", "swift-certificates"),
            ]),
        module(
            "BuiltInAdapters",
            ["Host", "PlistFeeds", "EmployeeSearch", "XMLUsers", "Chat", "ChatPage", "ODataAdapter", "ODataReference"]),
        .executableTarget(
            name: "portico",
            dependencies: [
                "Host", "BuiltInAdapters", "WireFormats", "porticoctl",
                server("ArgumentParser", "swift-argument-parser"),
            ],
            path: "Sources/portico", swiftSettings: strict),
        module("Notes", path: "Plugins/Notes/Sources/Notes", ["AdapterKit"]),
        driver("NotesWorker", path: "Plugins/Notes/Sources/NotesWorker", ["Notes", "AdapterWorker"]),
        driver("notes-host", path: "Tests/Drivers/NotesHost", ["Host", "BuiltInAdapters", "Notes"]),
        module("ClientGeneration", ["AdapterKit", "ODataModel"]),
        module(
            "porticoctl",
            [
                "AdapterKit", "AdapterPackages", "CSV", "ClientGeneration", "CommandLineSupport", "ConnectedSystems",
                "SOAP",
                "WireFormats", "RecordStorage",
                "ODataModel",
                "ODataLanguage",
                "ODataEngine",
                "SQLiteStore",
                "AttachmentFiles", "Backups", "DurableFiles", "IPAddresses", "Upstream",
                server("ArgumentParser", "swift-argument-parser"),
                server("AsyncHTTPClient", "async-http-client"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOPosix", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
            ]),
        .executableTarget(
            name: "porticoctl-program", dependencies: ["porticoctl"], path: "Sources/porticoctl-program",
            swiftSettings: strict),
        .executableTarget(
            name: "portico-client-demo", dependencies: ["Client"], path: "Sources/portico-client-demo",
            swiftSettings: strict),
        module(
            "StandInService", path: "Tests/StandIn/Service",
            [
                "AdapterKit", "WireFormats", "SOAP",
                server("GRDB", "GRDB.swift"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOPosix", "swift-nio"),
            ]),
        .executableTarget(
            name: "portico-stand-in",
            dependencies: [
                "StandInService", "AdapterKit", "WireFormats",
                server("ArgumentParser", "swift-argument-parser"),
                server("AsyncHTTPClient", "async-http-client"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
            ],
            path: "Tests/StandIn/Program", swiftSettings: strict),
        module(
            "MirrorSimulator", path: "Tests/Simulation/Mirror/Simulator",
            [
                "MirrorEngine", "AdapterKit", "RecordStorage", "SyncEngine", "SyncMessages", "SyncDevice",
                "MemoryStore", "SyncSimulator", "StoreConformance",
            ]),
        driver(
            "mirror-simulator", path: "Tests/Simulation/Mirror/Driver",
            ["MirrorSimulator", "SyncSimulator"]),
        driver("client-kill-driver", path: "Tests/Drivers/ClientKill", ["Client"]),
        driver("store-kill-driver", path: "Tests/Drivers/StoreKill", ["SQLiteStore", "RecordStorage", "AdapterKit"]),
        driver(
            "worker-speed", path: "Tests/Drivers/WorkerSpeed",
            ["WorkerHost", "AdapterKit", "AdapterWorker"]),
        driver(
            "postgresql-speed", path: "Tests/Drivers/PostgreSQLSpeed",
            ["PostgreSQLStore", "SQLiteStore", "RecordStorage", "AdapterKit"]),
        .executableTarget(
            name: "round-trip-proxy", path: "Tests/Drivers/RoundTripProxy", cSettings: [.treatAllWarnings(as: .error)]),
        driver("store-speed", path: "Tests/Drivers/StoreSpeed", ["SQLiteStore", "RecordStorage", "AdapterKit"]),
        tests(
            "SQLiteStoreTests",
            [
                "SQLiteStore", "Admission", "AdmissionTesting", "DurableFiles", "AttachmentFiles", "Telemetry",
                "RecordStorage", "AdapterKit", server("GRDB", "GRDB.swift"), "MemoryStore",
                "StoreConformance",
            ]),
        tests(
            "PostgreSQLStoreTests",
            [
                "PostgreSQLStore", "AdapterKit", "RecordStorage", "StoreConformance", "round-trip-proxy",
            ]),
        tests(
            "BackupsTests",
            [
                "Backups", "AttachmentFiles", "SQLiteStore", "AdapterKit", "RecordStorage",
                server("Crypto", "swift-crypto"),
            ]),
        tests(
            "ODataQueryTests",
            [
                "ODataFuzzing",
                "ODataEngine", "ODataLanguage", "ODataModel",
                "SQLiteStore",
                "RecordStorage", "AdapterKit",
            ]),
        tests(
            "ODataAdapterTests",
            [
                "ODataAdapter", "ODataReference", "SQLiteStore", "AdapterKit", "WireFormats", "RecordStorage",
                "MemoryStore", "AdapterTesting",
            ]),
        tests(
            "IdentityTests",
            [
                "Identity", "Admission", "AdmissionTesting", "IPAddresses", "Upstream", "UpstreamStandIn", "AdapterKit",
                "RecordStorage", "MemoryStore",
                server("Crypto", "swift-crypto"),
                server("CryptoExtras", "swift-crypto"),
            ]),
        tests(
            "XMLSchemaTests",
            [
                "XMLSchema", "CLibXML2", "AdapterKit", "WireFormats",
                "WireFormatTesting",
            ]),
        tests(
            "UpstreamTests",
            [
                "Upstream", "Admission", "AdmissionTesting", "IPAddresses", "UpstreamStandIn", "CZlib", "AdapterKit",
                "UpstreamRecording",
                server("AsyncHTTPClient", "async-http-client"),
                server("Crypto", "swift-crypto"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
            ]),
        tests("AdmissionTests", ["Admission", "AdmissionTesting", "AdapterKit"]),
        tests(
            "MirrorEngineTests",
            ["MirrorEngine", "AdapterKit", "RecordStorage", "MemoryStore", "StoreConformance"]),
        tests(
            "porticoctlTests",
            [
                "porticoctl", "CommandLineSupport", "HTTPServer", "IPAddresses", "SQLiteStore", "AdapterKit",
                "WireFormats",
                server("ArgumentParser", "swift-argument-parser"),
                server("HTTPTypes", "swift-http-types"),
                server("NIOCore", "swift-nio"),
                server("NIOPosix", "swift-nio"),
            ]),
        tests(
            "HostTests",
            [
                "Host", "BuiltInAdapters", "portico", "Gateway", "HostConfiguration", "Identity", "Push", "Telemetry",
                "Upstream", "SyncEngine",
                "RecordStorage", "AdapterKit", "AdapterProtocol", "WireFormats",
                server("Logging", "swift-log"),
                server("ArgumentParser", "swift-argument-parser"),
                server("AsyncHTTPClient", "async-http-client"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("SwiftASN1", "swift-asn1"),
                server("X509", "swift-certificates"),
            ]),
        tests(
            "TelemetryTests",
            [
                "Telemetry", "AdapterKit", "WireFormats", server("CoreMetrics", "swift-metrics"),
                server("Tracing", "swift-distributed-tracing"),
            ]),
        tests("PushTests", ["Push", "AdapterKit", "WireFormats", server("Crypto", "swift-crypto")]),
        tests(
            "AttachmentFilesTests",
            [
                "AttachmentFiles", "AdapterKit", "RecordStorage", server("Crypto", "swift-crypto"),
            ]),
        tests("SOAPTests", ["SOAP", "AdapterKit", "WireFormats"], resources: [.copy("Fixtures")]),
        tests(
            "MirrorSimulatorTests", path: "Tests/Simulation/Mirror/Tests",
            ["MirrorSimulator", "SyncSimulator"]),
        tests(
            "StandInServiceTests", path: "Tests/StandIn/Tests", ["StandInService", "AdapterKit", "WireFormats"]),
        // A program in C that does what a worker must not be able to.
        .executableTarget(
            name: "hostile-worker", path: "Tests/Drivers/HostileWorker", cSettings: [.treatAllWarnings(as: .error)]),
        tests(
            "WorkerHostTests",
            [
                "WorkerHost", "Admission", "AdmissionTesting", "AdapterKit", "AdapterProtocol",
                "portico-worker-launcher",
                "hostile-worker",
            ]),
        tests(
            "AdapterPackagesTests",
            ["AdapterPackages", "AdapterKit", server("Crypto", "swift-crypto")]),
        tests(
            "WorkerProtocolTests",
            [
                "WorkerHost", "WorkerTesting", "SQLiteStore", "RecordStorage", "AdapterKit", "AdapterProtocol",
                "AdapterTesting",
            ]),
        tests("ClientGenerationTests", ["ClientGeneration", "AdapterKit", "ODataModel"]),
        tests("HostConfigurationTests", ["HostConfiguration", "NearestNames", "AdapterKit"]),
        tests(
            "HTTPServerTests",
            [
                "HTTPServer", "IPAddresses", "AdapterKit",
                server("HTTPTypes", "swift-http-types"),
                server("NIOCore", "swift-nio"),
                server("NIOEmbedded", "swift-nio"),
                server("NIOHPACK", "swift-nio-http2"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOHTTP2", "swift-nio-http2"),
                server("NIOPosix", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
                server("AsyncHTTPClient", "async-http-client"),
                server("Crypto", "swift-crypto"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
                server("ServiceLifecycleTestKit", "swift-service-lifecycle"),
                server("SwiftASN1", "swift-asn1"),
                server("X509", "swift-certificates"),
            ]),
        tests(
            "GatewayTests",
            [
                "Gateway", "Admission", "AdmissionTesting", "CSV", "HTTPServer", "Identity", "MirrorEngine",
                "SQLiteStore",
                "AttachmentFiles",
                "AdapterKit",
                "Telemetry", "WireFormats", "RecordStorage", "SyncEngine", "MemoryStore", "StoreConformance",
                server("Crypto", "swift-crypto"),
                "SyncMessages",
                server("HTTPTypes", "swift-http-types"),
                server("NIOCore", "swift-nio"),
                server("NIOPosix", "swift-nio"),
            ]),
        tests(
            "AdapterTests",
            [
                "PlistFeeds", "EmployeeSearch", "XMLUsers", "Chat", "WorkerTesting", "AdapterKit", "WireFormats",
                "AdapterTesting",
            ]),
        tests(
            "ConnectedSystemsTests",
            [
                "ConnectedSystems", "HostConfiguration", "AdapterKit", "WireFormats",
                "AdapterTesting",
            ]),
        tests(
            "AdapterProtocolTests", path: "Sources/AdapterWorker/Tests/AdapterProtocolTests",
            ["AdapterKit", "AdapterProtocol"]),
        tests(
            "AdapterWorkerTests", path: "Sources/AdapterWorker/Tests/AdapterWorkerTests",
            ["AdapterKit", "AdapterWorker"]),
        tests(
            "ValueTreeTests", path: "Sources/AdapterKit/Tests/ValueTreeTests", ["AdapterKit"]),
        tests(
            "AdapterKitTests", path: "Sources/AdapterKit/Tests/AdapterKitTests", ["AdapterKit"]),
        tests(
            "WireFormatsTests", path: "Sources/WireFormats/Tests/WireFormatsTests",
            ["WireFormats", "WireFormatTesting", "AdapterKit"]),
        tests(
            "ODataEngineTests", path: "Sources/OData/Tests/ODataEngineTests",
            ["ODataEngine", "ODataLanguage", "ODataModel", "AdapterKit"]),
        tests(
            "ODataModelTests", path: "Sources/OData/Tests/ODataModelTests", ["ODataModel", "AdapterKit", "WireFormats"]),
        tests(
            "ODataLanguageTests", path: "Sources/OData/Tests/ODataLanguageTests",
            ["ODataLanguage", "ODataModel", "AdapterKit"]),
        tests(
            "SyncEngineTests", path: "Sources/SyncEngine/Tests/SyncEngineTests",
            [
                "RecordStorage", "SyncEngine", "SyncMessages", "MemoryStore", "StoreConformance",
                "AdapterKit",
            ]),
        tests(
            "SyncDeviceTests", path: "Sources/SyncEngine/Tests/SyncDeviceTests",
            ["SyncDevice", "SyncMessages", "AdapterKit"]),
        tests(
            "SyncSimulatorTests", path: "Tests/Simulation/Sync/Tests",
            ["SyncSimulator"]),
        tests(
            "AdapterTestingTests", path: "Sources/AdapterTesting/Tests/AdapterTestingTests",
            ["AdapterTesting", "AdapterKit"]),
        tests(
            "UpstreamRecordingTests", path: "Sources/AdapterTesting/Tests/UpstreamRecordingTests",
            ["AdapterTesting", "UpstreamRecording", "AdapterKit"]),
        tests(
            "ClientTests", path: "Sources/Client/Tests/ClientTests",
            [
                "Client", "ReplicaStorage", "AdapterKit", "WireFormats",
                "SyncMessages", server("GRDB", "GRDB.swift"), "RecordStorage",
                "SyncEngine", "MemoryStore",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
