import AdapterKit
import Synchronization

/// A body in a message: its bytes where it is short, otherwise the number of a stream.
public struct MessageBody: MessageValue, Sendable {
    /// The longest body that stands in a message, in bytes.
    public static let inlineMaximum = 256 << 10
    /// The longest body in a message that is read, in bytes: nothing but the message's end bounds for how long it is held.
    public static let acceptedInline = 1 << 20

    /// A body.
    public enum Content: Sendable {
        /// All of it.
        case bytes([UInt8])
        /// It comes by pieces.
        case stream(Int)
    }

    /// The body.
    public let content: Content

    /// Creates a body.
    public init(_ content: Content) { self.content = content }

    public var message: WireValue {
        switch content {
        case .bytes(let bytes): .data(bytes)
        case .stream(let number): .named("stream", number.message)
        }
    }

    public init(message: WireValue) throws {
        if case .data(let bytes) = message {
            guard bytes.count <= Self.acceptedInline else {
                throw MessageError("a body of \(bytes.count) bytes that is no stream, more than \(Self.acceptedInline)")
            }
            self.init(.bytes(bytes))
        } else {
            self.init(.stream(try MessageMap(message)("stream")))
        }
    }

    /// The number of the stream that is the body of a request's parameters or of a result; nil where there is none.
    static func stream(of members: WireDictionary) -> Int? {
        guard let message = members["body"], case .stream(let number)? = (try? MessageBody(message: message))?.content,
            number > 0
        else { return nil }
        return number
    }

    /// A body that the other side is to get: a long one by pieces. `whenDone` is called once, when the bytes are not needed for it
    /// any more.
    public static func sending(
        _ bytes: [UInt8], over connection: MessageConnection, whenDone: @escaping @Sendable () -> Void = {}
    ) throws -> MessageBody {
        guard bytes.count > inlineMaximum else {
            whenDone()
            return MessageBody(.bytes(bytes))
        }
        return MessageBody(.stream(try connection.send(SingleChunkStream(bytes), whenDone: whenDone)))
    }

    /// All of a body that the other side sends, of at most `limit` bytes. `willHold` is called with the bytes of each piece of a
    /// stream before they are added; what it throws ends the stream.
    public func collected(
        over connection: MessageConnection, limit: Int, willHold: (Int) throws -> Void = { _ in }
    ) async throws -> [UInt8] {
        switch content {
        case .bytes(let bytes): return bytes
        case .stream(let number):
            let stream = try connection.body(of: number)
            var bytes: [UInt8] = []
            while let piece = try await stream.next() {
                guard bytes.count <= limit - piece.count else {
                    stream.cancel()
                    throw PorticoError(.requestTooLarge, "The body is too large.")
                }
                do { try willHold(piece.count) } catch {
                    stream.cancel()
                    throw error
                }
                bytes += piece
            }
            return bytes
        }
    }
}

/// Bytes as a stream of one piece.
public final class SingleChunkStream: ByteStream {
    private let bytes: Mutex<[UInt8]?>

    /// Creates a stream of these bytes.
    public init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes.isEmpty ? nil : bytes) }

    public func next() async throws -> [UInt8]? { take() }

    public func cancel() { _ = take() }

    private func take() -> [UInt8]? {
        bytes.withLock { bytes in
            defer { bytes = nil }
            return bytes
        }
    }
}
