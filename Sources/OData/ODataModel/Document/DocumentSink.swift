/// Where a document goes while it is written, part by part, so that no more of it than a part is in memory.
///
/// The first failure is kept, and nothing is taken after it: whoever writes asks ``isOpen`` between rows, and throws the
/// failure at the end.
public final class DocumentSink {
    /// Bytes from which on a part is given on.
    public static let partSize = 64 << 10

    private let put: (_ part: [UInt8]) throws -> Void
    private var failure: (any Error)?

    public init(_ put: @escaping (_ part: [UInt8]) throws -> Void) {
        self.put = put
    }

    public var isOpen: Bool { failure == nil }

    func take(_ part: [UInt8]) {
        guard isOpen else { return }
        do { try put(part) } catch { failure = error }
    }

    func check() throws {
        if let failure { throw failure }
    }
}

/// A document that is written straight into bytes, and may have a sink.
public protocol DocumentOutput {
    var sink: DocumentSink? { get }
    /// Bytes that are written and not taken yet.
    var size: Int { get }
    /// What was written since it was asked last; the document goes on.
    mutating func take() -> [UInt8]
}

extension DocumentOutput {
    /// To be asked between rows: gives on what is written where that is a part. False: nothing more is wanted.
    public mutating func goesOn() -> Bool {
        guard let sink else { return true }
        if size >= DocumentSink.partSize { sink.take(take()) }
        return sink.isOpen
    }

    /// Gives on what is written. Throws what the sink did.
    public mutating func flush() throws {
        guard let sink else { return }
        if size > 0 { sink.take(take()) }
        try sink.check()
    }
}
