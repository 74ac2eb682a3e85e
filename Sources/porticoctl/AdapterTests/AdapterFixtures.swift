import Foundation
import ValueTree
import WireFormats

/// What a package's `fixtures` folder has: calls, and recorded answers of upstreams.
struct AdapterFixtures {
    struct Call {
        let method: String
        let path: String
        let body: WireValue?
        /// Nil: any success, or any refusal of the registry.
        let status: Int?
        /// Members that the answer must have; nil: none in particular.
        let answer: WireValue?
    }

    /// Below `/api/v1/{adapter}/operations/`, or elsewhere.
    private let entries: [WireValue]
    /// The settings by which upstreams are replayed or recorded.
    let settings: [String]
    /// Upstreams whose answers are replayed.
    let replayed: Set<String>

    /// Throws where `calls.json` is no list of calls.
    init(_ package: URL, recording: Set<String>) throws {
        let folder = package.appendingPathComponent("fixtures", isDirectory: true)
        let upstreams = folder.appendingPathComponent("upstreams", isDirectory: true)
        let recorded = Set((try? FileManager.default.contentsOfDirectory(atPath: upstreams.path)) ?? [])
        replayed = recorded.filter { !$0.hasPrefix(".") }.subtracting(recording)
        settings =
            replayed.sorted().map { "upstreams.\($0).replay=\(upstreams.appendingPathComponent($0).path)" }
            + recording.sorted().map { "upstreams.\($0).record=\(upstreams.appendingPathComponent($0).path)" }
        let file = folder.appendingPathComponent("calls.json")
        guard FileManager.default.fileExists(atPath: file.path) else {
            entries = []
            return
        }
        let document: WireValue
        do {
            document = try JSONFormat().read(Array(Data(contentsOf: file)))
        } catch let error as WireFormatError {
            throw CommandError("\(file.path) is no JSON: \(error.message)")
        } catch {
            throw CommandError("\(file.path) cannot be read: \(error.localizedDescription)")
        }
        guard let entries = document.arrayValue, entries.allSatisfy(Self.isCall) else {
            throw CommandError(
                "\(file.path) is to be a list of {\"operation\", \"input\"?, \"status\"?, \"answer\"?} or "
                    + "{\"method\", \"path\", \"body\"?, \"status\"?, \"answer\"?}.")
        }
        self.entries = entries
    }

    /// The calls, of operations as those of this adapter.
    func calls(of adapter: String) -> [Call] {
        entries.map { entry in
            let name = entry["operation"]?.stringValue
            return Call(
                method: name == nil ? entry["method"]?.stringValue ?? "GET" : "POST",
                path: name.map { "/api/v1/\(adapter)/operations/\($0.asPathSegment)" } ?? entry["path"]?.stringValue
                    ?? "/", body: entry[name == nil ? "body" : "input"] ?? (name == nil ? nil : [:]),
                status: entry["status"]?.int64Value.flatMap { Int(exactly: $0) }, answer: entry["answer"])
        }
    }

    private static func isCall(_ entry: WireValue) -> Bool {
        guard let members = entry.dictionaryValue else { return false }
        let isOperation = members["operation"]?.stringValue != nil
        let path = members["path"]?.stringValue
        let known: Set<String> = isOperation ? ["operation", "input"] : ["method", "path", "body"]
        return (isOperation || (path?.hasPrefix("/") == true && members["method"]?.stringValue != nil))
            && Set(members.map(\.key)).isSubset(of: known.union(["status", "answer"]))
    }
}
