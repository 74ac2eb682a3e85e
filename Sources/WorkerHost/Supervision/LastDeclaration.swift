import AdapterKit
import AdapterProtocol
import FoundationEssentials

/// An adapter's declaration when its program was last started, in a file that the program cannot open: its paths are known
/// while the program does not answer.
public struct LastDeclaration: Sendable {
    /// The program's path, as the configuration resolves it.
    public let program: String
    /// Where it has ``AdapterDeclaration/rules``, they refuse every change after it was read.
    public let declaration: AdapterDeclaration

    /// Creates what is written with these values.
    public init(program: String, declaration: AdapterDeclaration) {
        self.program = program
        self.declaration = declaration
    }

    /// Reads a file; nil where there is none that can be read. Blocks on the file system.
    public init?(path: String) {
        guard let bytes = try? Data(contentsOf: URL(filePath: path)), bytes.count <= Self.mostBytes,
            let value = try? CBORDecoder.value(of: Array(bytes)), let map = try? MessageMap(value),
            let program = try? map("program", as: String.self),
            let version = try? map("protocol", default: 1), let written = map.members["declaration"],
            case let message = version == 1 ? Version1.declaration(written) : written,
            let hasRules = try? map("hasRules", as: Bool.self),
            let declaration = try? AdapterDeclaration(message: message, rules: hasRules ? RefusingRules() : nil),
            // What an earlier version of the host took may be too much for this one.
            declaration.problems.isEmpty
        else { return nil }
        self.init(program: program, declaration: declaration)
    }

    /// As a whole or not at all. Blocks on the file system. Throws where the file cannot be written.
    public func write(to path: String) throws {
        var encoder = CBOREncoder()
        let value: WireValue = [
            "protocol": AdapterProtocolVersion.current.message, "program": program.message,
            "hasRules": (declaration.rules != nil).message,
            "declaration": declaration.message,
        ]
        try encoder.append(value)
        try Data(encoder.bytes).write(to: URL(filePath: path), options: .atomic)
    }

    /// As long as the message may be that it came with.
    private static let mostBytes = 32 << 20
}

/// Rules of a program that cannot be asked.
private struct RefusingRules: RecordRules {
    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        throw PorticoError(.adapterUnavailable, "This service is not available at the moment.", retryAfter: 5)
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {
        throw PorticoError(.adapterUnavailable, "This service is not available at the moment.", retryAfter: 5)
    }
}
