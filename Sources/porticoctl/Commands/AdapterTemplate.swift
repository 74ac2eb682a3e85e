import AdapterKit
import ArgumentParser
import Foundation

/// The files of a new adapter's package: those of the SDK's `AdapterTemplates`, under the adapter's names.
struct AdapterTemplate: PackageTemplate {
    /// What a package begins with.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case entity, operation, mirror, mount
    }

    static let longestName = 40

    /// Path within the package → text.
    let files: [String: String]

    /// Throws where the SDK has no such template, or lies at a path that no manifest can name.
    init(_ kind: Kind, name: AdapterName, sdk: AdapterSDK) throws {
        let path = sdk.folder.path
        guard !path.contains(where: { $0 == "\"" || $0 == "\\" || $0.isNewline }) else {
            throw CommandError("\(path) cannot be named in a Package.swift.")
        }
        let names = Names(adapter: name, sdk: path)
        let templates = sdk.folder.appendingPathComponent("AdapterTemplates", isDirectory: true)
        var files: [String: String] = [:]
        for folder in ["common", kind.rawValue] {
            for (path, text) in try Self.texts(below: templates.appendingPathComponent(folder, isDirectory: true)) {
                files[names.replaced(path == "gitignore" ? ".gitignore" : path)] = names.replaced(text)
            }
        }
        self.files = files
    }

    private static func texts(below folder: URL) throws -> [(path: String, text: String)] {
        guard let paths = try? FileManager.default.subpathsOfDirectory(atPath: folder.path), !paths.isEmpty else {
            throw CommandError.unreadable(folder.path)
        }
        return try paths.sorted().compactMap { path in
            let file = folder.appendingPathComponent(path)
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), !isFolder.boolValue else {
                return nil
            }
            guard let text = try? String(contentsOf: file, encoding: .utf8) else {
                throw CommandError.unreadable(file.path)
            }
            return (path, text)
        }
    }

    /// What the templates' names become.
    private struct Names {
        private let replacements: [(old: String, new: String)]

        init(adapter: AdapterName, sdk: String) {
            // tasks-of-today: TasksOfToday. The module has a suffix, since no two in one process may have the same name.
            let type = adapter.text.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
            replacements = [("SDK-PATH", sdk), ("Acme", type), ("acme", adapter.text)]
        }

        func replaced(_ text: String) -> String {
            // In one pass, so that a name that holds `acme` is not replaced again.
            var result = ""
            var rest = Substring(text)
            while let (range, new) = first(in: rest) {
                result += rest[..<range.lowerBound] + new
                rest = rest[range.upperBound...]
            }
            return result + rest
        }

        private func first(in text: Substring) -> (Range<Substring.Index>, String)? {
            replacements.compactMap { old, new in text.range(of: old).map { ($0, new) } }
                .min { $0.0.lowerBound < $1.0.lowerBound }
        }
    }
}
