import AdapterKit
import Foundation
import WorkerHost

/// Where workers' files are, below the data directory.
///
/// ```
/// workers/NAME/INSTANCE/        the folder of one instance, which it alone may write; removed when it is stopped
/// workers/.left-ID/             what an earlier process has left, until it is removed
/// workers/NAME.crashes.json     its last crashes
/// workers/NAME.declaration      what it declared when it was last started
/// ```
struct WorkerFolders: Sendable {
    private static let declarationSuffix = ".declaration"
    private static let leftPrefix = ".left-"
    private let folder: URL

    init(_ data: String) { folder = URL(fileURLWithPath: data, isDirectory: true).appending(path: "workers") }

    /// Another one with each call: while one instance takes another one's place, both have files.
    func instance(of name: AdapterName) -> String {
        folder.appending(path: name.text).appending(path: UUID().uuidString).path
    }

    func crashes(of name: AdapterName) -> String { folder.appending(path: "\(name).crashes.json").path }

    func declaration(of name: AdapterName) -> String {
        folder.appending(path: name.text + Self.declarationSuffix).path
    }

    /// Those of all adapters.
    var declarations: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
            .filter { $0.hasSuffix(Self.declarationSuffix) }.map { folder.appending(path: $0).path }
    }

    /// Removes what instances of an earlier process have left, which may take longer than this does. To be called before any is
    /// started, by the one process that uses the data directory. What stays is a warning in the log.
    func removeLeftovers(log: Log) {
        var left: [String] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            let path = folder.appending(path: name).path
            // Of a symbolic link this is the link's type.
            let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            guard type == .typeDirectory else { continue }
            guard !name.hasPrefix(Self.leftPrefix) else {
                left.append(path)
                continue
            }
            // Instances of this process make a folder of the name again.
            let aside = folder.appending(path: "\(Self.leftPrefix)\(UUID().uuidString)").path
            if rename(path, aside) == 0 {
                left.append(aside)
            } else {
                log.warning("folder of an earlier worker could not be removed", ["folder": .text(path)])
            }
        }
        guard !left.isEmpty else { return }
        Task.detached(priority: .background) { [left] in
            for path in left { await FolderRemover.remove(path, patience: nil, log: log) }
        }
    }
}
