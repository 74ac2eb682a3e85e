import CommandLineSupport
import Foundation

/// A new package: what `adapter new` and `host new` write.
protocol PackageTemplate {
    /// The texts of its files, by their paths in the package.
    var files: [String: String] { get }
}

extension PackageTemplate {
    /// Makes the folder. Throws where it is there, so that nothing is written over.
    func write(to folder: URL) throws {
        guard !FileManager.default.fileExists(atPath: folder.path) else {
            throw CommandError("\(folder.path) is there already.")
        }
        do {
            for (path, text) in files.sorted(by: { $0.key < $1.key }) {
                let place = folder.appendingPathComponent(path)
                try FileManager.default.createDirectory(
                    at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: place)
            }
        } catch {
            throw CommandError("\(folder.path) cannot be written: \(error.localizedDescription)")
        }
    }
}
