import BuiltInAdapters
import Foundation
import HostConfiguration

@testable import Host

/// Configurations as texts, and what the host makes of them.
enum Configured {
    /// The repository's, which has files that a configuration may name.
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Config").path

    static let secrets = ["WORD": "open sesame", "BROKEN": "two\nlines", "EMPTY": ""]

    static func plan(
        _ text: String, set overrides: [String] = [], data: String = "/tmp/data", toleratesUnknown: Bool = false
    ) throws -> HostPlan {
        try HostPlan(
            YAMLDocument.read(text, file: "c.yaml"), environment: secrets, overrides: overrides, directory: folder,
            data: data, compiled: BuiltInAdapters.all, toleratesUnknown: toleratesUnknown)
    }

    /// Why there is no plan; nothing where there is one.
    static func refusal(_ text: String, set overrides: [String] = [], data: String = "/tmp/data") -> String {
        do {
            _ = try plan(text, set: overrides, data: data)
            return ""
        } catch {
            return "\(error)"
        }
    }
}
