import CLibXML2
import Synchronization

/// An XML Schema (1.0), compiled, that documents are validated against.
///
/// Nothing is ever loaded: no network, no files, no DTD, no `xsi:schemaLocation`, no `xs:import` or `xs:include`. A
/// DOCTYPE is refused. The schema itself must come from a trusted author: patterns with great repetition counts make
/// libxml2 slow.
///
/// Isolation: may be used from any task. libxml2 promises nothing about one compiled schema in two threads at once, so
/// validations against the same schema take turns; different schemas do not wait for each other.
public final class XMLSchema: Sendable {
    public static let defaultMaximumBytes = 16 << 20
    /// How many violations of one document are reported.
    public static let reportedViolations = 100

    private let compiled: Mutex<CompiledSchema>

    /// - Throws: ``XMLSchemaError`` where the bytes are no schema.
    public init(_ schema: [UInt8]) throws(XMLSchemaError) {
        LibXML2.prepare()
        compiled = Mutex(try CompiledSchema(schema))
    }

    /// What in the document breaks the schema, in the order of the document; nothing where it is valid.
    ///
    /// - Throws: ``XMLSchemaError`` where the document is not well-formed, has a DOCTYPE or is too long.
    public func violations(
        in document: [UInt8], maximumBytes: Int = XMLSchema.defaultMaximumBytes
    ) throws(XMLSchemaError) -> [XMLSchemaViolation] {
        guard document.count <= maximumBytes else { throw XMLSchemaError(.tooLong, line: nil) }
        return try compiled.withLock { schema throws(XMLSchemaError) in
            schema.violations(in: try ParsedDocument(document))
        }
    }
}

/// A rule of the schema that a document breaks.
public struct XMLSchemaViolation: Sendable, Equatable {
    /// libxml2's words, which may quote the document.
    public let message: String
    /// From 1.
    public let line: Int
}

public struct XMLSchemaError: Error, Sendable, Equatable {
    public enum Reason: Sendable, Equatable {
        case notWellFormed
        case doctypeRefused
        case tooLong
        /// Not a schema, or one that would have to load another.
        case notASchema
    }

    public let reason: Reason
    public let line: Int?

    init(_ reason: Reason, line: Int?) {
        (self.reason, self.line) = (reason, line)
    }
}
