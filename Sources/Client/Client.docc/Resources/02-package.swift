// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "offline-notes",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: "../portico/Sources/Client")
    ],
    targets: [
        .executableTarget(
            name: "offline-notes", dependencies: [.product(name: "Client", package: "Client")])
    ]
)
