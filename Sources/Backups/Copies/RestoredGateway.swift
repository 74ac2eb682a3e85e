import AdapterKit
import DurableFiles
import Foundation

/// What a restored data directory came from: the file `restored.json` in it, so that a gateway can say which adapters it misses.
public struct RestoredGateway: Sendable, Equatable, Codable {
    /// Below the data directory.
    public static let fileName = "restored.json"

    public var copy: String
    /// Of the gateway that the copy was made by.
    public var version: String
    public var adapters: [CopyManifest.Adapter]

    public init(_ manifest: CopyManifest) {
        (copy, version, adapters) = (manifest.name, manifest.version, manifest.adapters)
    }

    /// Nil where there is no such file, or it cannot be read.
    public init?(in data: String) {
        guard let bytes = FileManager.default.contents(atPath: "\(data)/\(Self.fileName)"),
            let found = try? JSONDecoder().decode(Self.self, from: bytes)
        else { return nil }
        self = found
    }

    public func write(into data: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try DurableFiles.write(Array(try encoder.encode(self)), to: "\(data)/\(Self.fileName)")
    }

    /// A sentence for each adapter that was served and is none of `served`.
    public func missing(besides served: Set<String>) -> [String] {
        adapters.filter { !served.contains($0.name) }.map { adapter in
            let cause =
                switch adapter.source {
                case .program: "copy its program (\(adapter.path ?? "")) here and name it below plugins"
                case .package: "install its package (version \(adapter.version))"
                case .connection: "name its connection file as adapters.\(adapter.name).connect"
                case .builtIn: "name adapters.\(adapter.name)"
                }
            return "the adapter \(adapter.name) of the restored backup is not served: \(cause), "
                + "or remove \(Self.fileName) from the data directory"
        }
    }
}
