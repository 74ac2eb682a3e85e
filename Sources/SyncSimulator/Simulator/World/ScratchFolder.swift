import Foundation

/// A folder of a run for its devices' files, made when the first one needs it and gone with the run.
final class ScratchFolder: Sendable {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("simulation-\(UUID().uuidString)")

    func file(_ name: String) throws -> URL {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url.appendingPathComponent(name)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}
