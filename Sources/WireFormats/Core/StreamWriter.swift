import ValueTree

/// Writes one document piece by piece, in bounded memory where the format allows it.
///
/// The pieces are those of one value: `write` for a whole one, or `begin` … `end` around a container's members, each
/// member of a dictionary led by its `key`. Two equal keys under one `begin(.dictionary)` are the caller's mistake and
/// are not noticed. A piece in the wrong place (a value without its key, an `end` too many) traps.
///
/// Not Sendable: one task writes one document.
public protocol StreamWriter: AnyObject {
    func begin(_ container: ContainerKind) throws(WireFormatError)
    func key(_ key: String) throws(WireFormatError)
    func write(_ value: WireValue) throws(WireFormatError)
    /// A whole value, straight from a tape.
    func write(_ tape: Tape) throws(WireFormatError)
    /// Closes the innermost open container.
    func end() throws(WireFormatError)
    /// Ends the document; exactly one value must have been written.
    func finish() throws(WireFormatError)
    /// How many bytes are ready to be taken. Stays 0 until `finish` in a format whose table stands at the end.
    var pendingBytes: Int { get }
    /// Takes what is ready.
    func drain() -> [UInt8]
    /// Takes what is ready in pieces of at most so many bytes, without a second copy of the whole: ask until there is
    /// nothing. To be called after `finish` only.
    func drain(atMost count: Int) -> [UInt8]
}

@frozen public enum ContainerKind: Sendable, Equatable {
    case array
    case dictionary
}
